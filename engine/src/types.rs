//! `TERN_CHECK=types`: the datatypes of receives, to be compared with what comes.

use std::collections::HashMap;
use std::sync::Arc;

use tern_mem::Datatype;

/// Datatypes by the signature of one element. A receive names its type so; it stays for the job's lifetime, as a
/// pending receive needs it after the program has freed it, and programs have few that differ.
#[derive(Debug, Default)]
pub struct SignatureTypes(HashMap<u64, Arc<Datatype>>);

impl SignatureTypes {
    /// Takes a datatype in.
    pub fn learn(&mut self, datatype: &Arc<Datatype>) {
        self.0.entry(datatype.signature(1)).or_insert_with(|| datatype.clone());
    }

    /// Whether a message of `bytes` bytes with signature `theirs` may be received as elements of signature `ours`: they must
    /// begin with the same basic types. 0 is not compared.
    #[inline]
    pub(crate) fn fit(&self, bytes: u64, theirs: u64, ours: u64) -> bool {
        theirs == 0 || ours == 0 || bytes == 0 || self.begins(bytes, theirs, ours)
    }

    #[cold]
    fn begins(&self, bytes: u64, theirs: u64, ours: u64) -> bool {
        let datatype = self.0.get(&ours);
        datatype.map_or(ours, |datatype| datatype.signature_of_first(bytes)) == theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_mem::Basic;
    use tern_mem::datatype::ConstructorForm;

    fn pair(first: Basic, second: Basic) -> Arc<Datatype> {
        let types = [first, second].map(|basic| Datatype::predefined(basic).clone());
        Datatype::structure(ConstructorForm::Int, &[1, 1], &[0, 8], &types).expect("two numbers")
    }

    #[test]
    fn a_message_may_be_the_beginning_of_what_a_receive_has_room_for() {
        let (int, mixed) = (Datatype::predefined(Basic::Int), pair(Basic::Int, Basic::Double));
        let mut types = SignatureTypes::default();
        types.learn(&mixed);
        types.learn(int);
        assert!(types.fit(4, int.signature(1), mixed.signature(1)));
        assert!(types.fit(24, mixed.signature(2), mixed.signature(1)));
        assert!(!types.fit(8, int.signature(2), mixed.signature(1)));
        assert!(!types.fit(12, mixed.signature(1), int.signature(1)));
        assert!(types.fit(12, int.signature(3), int.signature(1)));
    }

    #[test]
    fn nothing_and_bytes_fit_anything() {
        let types = SignatureTypes::default();
        assert!(types.fit(0, 7, 8) && types.fit(4, 0, 8) && types.fit(4, 7, 0));
        assert!(!types.fit(4, 7, 8));
    }
}
