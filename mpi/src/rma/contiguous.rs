//! Elements one behind the other, each with its padding, as reductions want them.

use tern_mem::{Basic, Datatype, UserBuf};

/// Elements of a predefined type: a buffer's own, or copies of them.
pub(super) struct ContiguousElements {
    copies: Option<ElementCopies>,
    address: *mut u8,
}

struct ElementCopies {
    /// Keeps the memory.
    _room: UserBuf,
    /// The elements as a buffer without padding.
    shaped: UserBuf,
}

impl ContiguousElements {
    /// The elements of a buffer, to be read.
    pub(super) fn of(basic: Basic, buffer: &UserBuf) -> ContiguousElements {
        let elements = ContiguousElements::for_result(basic, buffer);
        if let Some(copies) = &elements.copies {
            UserBuf::copy(buffer, 0, &copies.shaped, 0, buffer.len());
        }
        elements
    }

    /// Where a buffer's elements are to be written, to be put in place by [`ContiguousElements::put_back`].
    pub(super) fn for_result(basic: Basic, buffer: &UserBuf) -> ContiguousElements {
        match buffer.contiguous_at(0, buffer.len()).filter(|_| basic.is_contiguous()) {
            Some(address) => ContiguousElements { copies: None, address },
            None => ContiguousElements::room(basic, buffer.len()).0,
        }
    }

    /// Room for copies of elements that have so many bytes without padding, and those copies as a buffer.
    pub(super) fn room(basic: Basic, bytes: usize) -> (ContiguousElements, UserBuf) {
        let count = bytes / basic.size();
        let room = UserBuf::owned(count * basic.extent());
        let address = room.contiguous_at(0, room.len()).expect("it is one run");
        // SAFETY: the room has as many elements, and `ContiguousElements` keeps it.
        let shaped = unsafe { UserBuf::typed(address, count as u64, Datatype::predefined(basic).layout()) };
        (
            ContiguousElements {
                copies: Some(ElementCopies { _room: room, shaped: shaped.clone() }),
                address,
            },
            shaped,
        )
    }

    /// Where the first element is.
    pub(super) fn address(&self) -> *mut u8 {
        self.address
    }

    /// Writes copies to where the elements belong.
    pub(super) fn put_back(self, buffer: &UserBuf) {
        if let Some(copies) = self.copies {
            UserBuf::copy(&copies.shaped, 0, buffer, 0, buffer.len());
        }
    }
}
