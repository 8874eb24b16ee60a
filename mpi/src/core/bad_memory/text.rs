//! What a signal handler can find out: whose code has faulted, what lies at an address; and how it says so.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::{Arguments, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whose code an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CodeOwner {
    /// This library's.
    Own,
    /// The C library's.
    Libc,
}

/// Where some code begins and ends.
struct CodeBounds(AtomicUsize, AtomicUsize);

static OWN: CodeBounds = CodeBounds::nowhere();
static LIBC: CodeBounds = CodeBounds::nowhere();

impl CodeBounds {
    const fn nowhere() -> CodeBounds {
        CodeBounds(AtomicUsize::new(0), AtomicUsize::new(0))
    }

    fn set(&self, start: usize, end: usize) {
        self.0.store(start, Ordering::Relaxed);
        self.1.store(end, Ordering::Relaxed);
    }

    fn hold(&self, address: usize) -> bool {
        (self.0.load(Ordering::Relaxed)..self.1.load(Ordering::Relaxed)).contains(&address)
    }
}

/// Finds out where the code of both libraries lies.
pub(super) fn learn_code() {
    // SAFETY: the function has the signature that is wanted, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(learn), std::ptr::null_mut()) };
}

unsafe extern "C" fn learn(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    let (own, copy): (fn(), unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void) =
        (learn_code, libc::memcpy);
    // SAFETY: the loader passes an object with as many headers as it says.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    for header in
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
    {
        let start = base.wrapping_add(header.p_vaddr as usize);
        let end = start.wrapping_add(header.p_memsz as usize);
        if (start..end).contains(&(own as usize)) {
            OWN.set(start, end);
        } else if (start..end).contains(&(copy as usize)) {
            LIBC.set(start, end);
        }
    }
    0
}

/// Whose code lies at an address.
pub(super) fn code_at(address: usize) -> Option<CodeOwner> {
    if OWN.hold(address) { Some(CodeOwner::Own) } else { LIBC.hold(address).then_some(CodeOwner::Libc) }
}

/// What the processor was doing.
pub(super) struct FaultPoint {
    /// The instruction.
    pub at: usize,
    /// Where a function that keeps nothing on the stack, as copies do, finds its return address, or that address itself.
    link: ReturnLink,
    /// Whether it wrote; not known everywhere.
    pub writes: Option<bool>,
}

enum ReturnLink {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "of processors whose calls use the stack")
    )]
    OnStack(usize),
    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "of processors with a register for it"))]
    Known(usize),
}

impl FaultPoint {
    /// # Safety
    /// The context is what a signal handler has got.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn of(context: *const c_void) -> FaultPoint {
        const WRITES: i64 = 2;
        // SAFETY: the caller's promise.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        FaultPoint {
            at: registers[libc::REG_RIP as usize] as usize,
            link: ReturnLink::OnStack(registers[libc::REG_RSP as usize] as usize),
            writes: Some(registers[libc::REG_ERR as usize] & WRITES != 0),
        }
    }

    /// # Safety
    /// The context is what a signal handler has got.
    #[cfg(target_arch = "aarch64")]
    pub(super) unsafe fn of(context: *const c_void) -> FaultPoint {
        const LINK: usize = 30;
        // SAFETY: the caller's promise.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        FaultPoint {
            at: registers.pc as usize,
            link: ReturnLink::Known(registers.regs[LINK] as usize),
            writes: None,
        }
    }

    /// # Safety
    /// None is needed.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) unsafe fn of(_: *const c_void) -> FaultPoint {
        FaultPoint { at: 0, link: ReturnLink::Known(0), writes: None }
    }

    /// Where the function returns to, if it keeps nothing on the stack.
    pub(super) fn returns_to(&self) -> Option<usize> {
        match self.link {
            ReturnLink::Known(address) => Some(address),
            // SAFETY: the thread runs on this stack, and a call has just left its return address there.
            ReturnLink::OnStack(top) => (top % size_of::<usize>() == 0)
                .then(|| unsafe { *std::ptr::with_exposed_provenance::<usize>(top) }),
        }
    }
}

/// What this process may do at an address.
#[derive(Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one, on the stack, and no memory from the heap")]
pub(super) enum MemoryRights {
    /// Nothing is mapped there.
    Nothing,
    /// MemoryRights and file of the mapping, as the system says them.
    Mapped(StackText),
}

/// What the system says of an address; `None` without `/proc`.
pub(super) fn rights_at(address: usize) -> Option<MemoryRights> {
    const MAPS: &CStr = c"/proc/self/maps";
    // SAFETY: a path that ends with a zero.
    let fd = unsafe { libc::open(MAPS.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    let (mut block, mut line, mut found) = ([0u8; 1024], StackText::new(), None);
    while found.is_none() {
        // SAFETY: there is room for so many bytes.
        let count = unsafe { libc::read(fd, block.as_mut_ptr().cast(), block.len()) };
        let Some(bytes) = usize::try_from(count).ok().filter(|&count| count > 0).map(|count| &block[..count])
        else {
            break;
        };
        for &byte in bytes {
            if byte != b'\n' {
                line.push(byte);
            } else if let Some(rights) = rights_in(line.as_str(), address) {
                found = Some(MemoryRights::Mapped(rights));
                break;
            } else {
                line = StackText::new();
            }
        }
    }
    // SAFETY: it was opened above.
    unsafe { libc::close(fd) };
    Some(found.unwrap_or(MemoryRights::Nothing))
}

/// `START-END RIGHTS OFFSET DEVICE INODE FILE`: the rights and the file, if the address is of this mapping.
fn rights_in(line: &str, address: usize) -> Option<StackText> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    if !(number(start)?..number(end)?).contains(&address) {
        return None;
    }
    let mut rights = StackText::new();
    rights.add(format_args!("{}", words.next()?));
    if let Some(file) = words.nth(3) {
        rights.add(format_args!(" of {file}"));
    }
    Some(rights)
}

/// Text without memory from the heap; what does not fit is left out.
#[derive(PartialEq, Eq)]
pub(super) struct StackText {
    bytes: [u8; StackText::BYTES],
    len: usize,
}

impl StackText {
    const BYTES: usize = 512;

    pub(super) const fn new() -> StackText {
        StackText { bytes: [0; StackText::BYTES], len: 0 }
    }

    pub(super) fn add(&mut self, words: Arguments<'_>) {
        let _ = self.write_fmt(words);
    }

    fn push(&mut self, byte: u8) {
        // The end of the line always has a place.
        if self.len < StackText::BYTES - 1 {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("?")
    }

    /// Writes it to standard error, in one piece.
    pub(super) fn write(mut self) {
        self.bytes[self.len] = b'\n';
        // SAFETY: the bytes are there, one more than the text has.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.len + 1) };
    }
}

impl Write for StackText {
    fn write_str(&mut self, words: &str) -> std::fmt::Result {
        words.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

impl std::fmt::Debug for StackText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rights_of_a_mapping_are_found() {
        let here = (&raw const OWN).addr();
        let Some(MemoryRights::Mapped(rights)) = rights_at(here) else { panic!("{here:#x} is mapped") };
        assert!(rights.as_str().starts_with("rw-p"), "{rights:?}");
        assert_eq!(rights_at(8), Some(MemoryRights::Nothing));
    }

    #[test]
    fn a_line_of_the_system_is_read() {
        let line = "7f0000000000-7f0000010000 -w-s 00000000 00:05 9 /dev/accelerator";
        let rights = rights_in(line, 0x7f00_0000_ffff).expect("an address of the mapping");
        assert_eq!(rights.as_str(), "-w-s of /dev/accelerator");
        assert_eq!(rights_in(line, 0x7f00_0001_0000), None);
    }

    #[test]
    fn code_is_known_by_its_place() {
        learn_code();
        assert_eq!(code_at(learn_code as fn() as usize), Some(CodeOwner::Own));
        assert_eq!(code_at(0x1000), None);
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut line = StackText::new();
        (0..1000).for_each(|_| line.add(format_args!("x")));
        assert_eq!(line.as_str().len(), StackText::BYTES - 1);
    }
}
