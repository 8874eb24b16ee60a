//! Arrays that are converted: short ones on the stack, so that calls with few requests allocate nothing.

use std::mem::MaybeUninit;

/// Elements that need no allocation.
const NEAR_MAX: usize = 16;

/// An array of converted elements.
pub struct ConvertedElements<T> {
    near: [MaybeUninit<T>; NEAR_MAX],
    far: Vec<T>,
    length: usize,
}

impl<T: Copy> ConvertedElements<T> {
    /// As many elements as `length` says, each by its index.
    pub fn new(length: usize, mut element: impl FnMut(usize) -> T) -> Self {
        let mut near = [MaybeUninit::uninit(); NEAR_MAX];
        let mut far = Vec::new();
        if length > NEAR_MAX {
            far.extend((0..length).map(element));
        } else {
            near.iter_mut().take(length).enumerate().for_each(|(index, place)| {
                place.write(element(index));
            });
        }
        ConvertedElements { near, far, length }
    }

    /// The elements.
    pub fn all(&mut self) -> &mut [T] {
        if self.length > NEAR_MAX {
            return &mut self.far;
        }
        // SAFETY: the first `length` of them were written when this was made.
        unsafe { std::slice::from_raw_parts_mut(self.near.as_mut_ptr().cast(), self.length) }
    }

    /// Where they are, for a call. The address is good until this moves.
    pub fn address(&mut self) -> *mut T {
        self.all().as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_arrays_are_the_same_to_their_user() {
        for length in [0, 1, NEAR_MAX, NEAR_MAX + 1, 1000] {
            let mut elements = ConvertedElements::new(length, |index| index * 3);
            assert!(elements.all().iter().enumerate().all(|(index, &value)| value == index * 3));
            assert_eq!((elements.all().len(), elements.far.is_empty()), (length, length <= NEAR_MAX));
        }
    }
}
