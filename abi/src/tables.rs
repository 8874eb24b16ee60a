//! The ABI tables as data: every function, constant, callback and handle type of the standard.
//!
//! The library is not made from these tables; it is compared with them. They are tab-separated text with
//! `#` comments, kept in `abi/tables`, and embedded so that tools and tests need no path.

/// One function of the C interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name, as in `MPI_Send_c`.
    pub name: &'static str,
    /// C type of the result.
    pub result: &'static str,
    /// Version of the standard that deprecated it.
    pub deprecated: Option<&'static str>,
    /// Parameters in order.
    pub params: Vec<FunctionParameter>,
    /// Whether further arguments of any type may follow (`MPI_Pcontrol`).
    pub variadic: bool,
}

/// One parameter of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Name in the standard.
    pub name: &'static str,
    /// C type; arrays as `const int[]`.
    pub ctype: &'static str,
    /// The MPI Forum's kind, such as `COMMUNICATOR`; may be empty.
    pub kind: &'static str,
    /// `in`, `out` or `inout`; may be empty.
    pub direction: &'static str,
}

/// One named constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name, as in `MPI_ANY_TAG`.
    pub name: &'static str,
    /// C type; `alias` if the value is another constant's name.
    pub ctype: &'static str,
    /// Value as written.
    pub text: &'static str,
}

impl Constant {
    /// The value as a number; none for an alias.
    pub fn value(&self) -> Option<i64> {
        match self.text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => self.text.parse().ok(),
        }
    }

    /// Whether this is a second name of another constant.
    pub fn is_alias(&self) -> bool {
        self.ctype == "alias"
    }
}

/// One callback function type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackType {
    /// Name, as in `MPI_User_function`.
    pub name: &'static str,
    /// C type of the result.
    pub result: &'static str,
    /// Parameters as written in C.
    pub params: &'static str,
}

/// One handle type: a pointer to an incomplete struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleType {
    /// Name, as in `MPI_Comm`.
    pub name: &'static str,
    /// Tag of the incomplete struct.
    pub tag: &'static str,
}

/// Every function, in the table's order.
pub fn functions() -> Vec<Function> {
    rows(include_str!("../tables/functions.tsv")).map(|cells| parse_function(&cells)).collect()
}

/// Every constant, in the table's order.
pub fn constants() -> Vec<Constant> {
    rows(include_str!("../tables/constants.tsv"))
        .map(|cells| Constant { name: cells[0], ctype: cells[1], text: cells[2] })
        .collect()
}

/// Every callback type, in the table's order.
pub fn callbacks() -> Vec<CallbackType> {
    rows(include_str!("../tables/callbacks.tsv"))
        .map(|cells| CallbackType { name: cells[0], result: cells[1], params: cells[2] })
        .collect()
}

/// Every handle type, in the table's order.
pub fn handle_types() -> Vec<HandleType> {
    rows(include_str!("../tables/types.tsv"))
        .map(|cells| HandleType { name: cells[0], tag: cells[1] })
        .collect()
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
}

fn parse_function(cells: &[&'static str]) -> Function {
    let params: Vec<FunctionParameter> =
        cells[3..].iter().filter(|cell| !cell.is_empty()).map(|cell| parse_param(cell)).collect();
    Function {
        name: cells[0],
        result: cells[1],
        deprecated: Some(cells[2]).filter(|since| !since.is_empty()),
        variadic: params.last().is_some_and(|last| last.name == "..."),
        params: params.into_iter().filter(|param| param.name != "...").collect(),
    }
}

fn parse_param(cell: &'static str) -> FunctionParameter {
    let mut parts = cell.split(':');
    let mut next = || parts.next().unwrap_or_default();
    FunctionParameter { name: next(), ctype: next(), kind: next(), direction: next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_all_rows() {
        assert_eq!(functions().len(), 664);
        assert_eq!(constants().len(), 366);
        assert_eq!(callbacks().len(), 23);
        assert_eq!(handle_types().len(), 17);
    }

    #[test]
    fn a_function_is_parsed_to_its_last_parameter() {
        let all = functions();
        let send = all.iter().find(|f| f.name == "MPI_Send_c").expect("MPI_Send_c is in the table");
        assert_eq!((send.result, send.params.len(), send.variadic), ("int", 6, false));
        let comm = send.params[5];
        assert_eq!((comm.name, comm.ctype, comm.direction), ("comm", "MPI_Comm", "in"));
    }

    #[test]
    fn only_pcontrol_is_variadic() {
        let all = functions();
        let variadic: Vec<_> = all.iter().filter(|f| f.variadic).map(|f| (f.name, f.params.len())).collect();
        assert_eq!(variadic, [("MPI_Pcontrol", 1)]);
    }

    #[test]
    fn every_value_is_a_number_or_an_alias() {
        for constant in constants() {
            assert_ne!(constant.value().is_some(), constant.is_alias(), "{}", constant.name);
        }
    }
}
