//! A wire that nobody else can read or change: records under ChaCha20-Poly1305, one key for each direction.
//!
//! A record is its length in clear (which is authenticated, too) and the sealed bytes. Records are numbered by the nonce, so
//! that none can be left out, repeated or exchanged.

use std::io;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use tern_mem::IoVec;

use super::cause::is_transient;
use super::wire::{Wire, piece, piece_mut};
use crate::limits::RECORD_BYTES_MAX;

const LENGTH_BYTES: usize = 4;
const TAG_BYTES: usize = 16;
const SEALED_BYTES_MAX: usize = RECORD_BYTES_MAX + TAG_BYTES;

/// An encrypted wire over another.
pub(crate) struct Sealed<W> {
    inner: W,
    seal: CipherDirection,
    open: CipherDirection,
    /// Sealed bytes from `out_start` on wait for the wire.
    out: Vec<u8>,
    out_start: usize,
    /// Sealed bytes that have come.
    sealed: Vec<u8>,
    /// Opened bytes from `plain_start` on wait for a reader.
    plain: Vec<u8>,
    plain_start: usize,
}

struct CipherDirection {
    cipher: ChaCha20Poly1305,
    count: u64,
}

impl CipherDirection {
    fn new(key: &[u8; 32]) -> Self {
        CipherDirection { cipher: ChaCha20Poly1305::new(&(*key).into()), count: 0 }
    }

    /// Never used twice: a key is for one connection, and 2^64 records are more than any sends.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.count.to_le_bytes());
        self.count += 1;
        nonce.into()
    }
}

impl<W: Wire> Sealed<W> {
    /// Seals with one key and opens with the other.
    pub(crate) fn new(inner: W, seal: &[u8; 32], open: &[u8; 32]) -> Self {
        Sealed {
            inner,
            seal: CipherDirection::new(seal),
            open: CipherDirection::new(open),
            out: Vec::new(),
            out_start: 0,
            sealed: Vec::new(),
            plain: Vec::new(),
            plain_start: 0,
        }
    }

    pub(crate) fn inner(&self) -> &W {
        &self.inner
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Hands sealed bytes to the wire. Whether all are out.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while self.out_start < self.out.len() {
            // SAFETY: the bytes live during the call.
            match unsafe { self.inner.write(&[piece(&self.out[self.out_start..])]) } {
                Ok(bytes) => self.out_start += bytes,
                Err(error) if is_transient(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.out_start = 0;
        Ok(true)
    }

    /// Whether bytes that have left the inner wire wait here: no socket tells of them.
    pub(crate) fn has_bytes(&self) -> bool {
        let record =
            self.sealed.first_chunk::<LENGTH_BYTES>().map(|length| u32::from_le_bytes(*length) as usize);
        self.plain_start < self.plain.len()
            || record.is_some_and(|bytes| self.sealed.len() - LENGTH_BYTES >= bytes.min(SEALED_BYTES_MAX))
    }

    fn seal_record(&mut self, mut plain: Vec<u8>) -> io::Result<()> {
        let length = ((plain.len() + TAG_BYTES) as u32).to_le_bytes();
        let nonce = self.seal.nonce();
        self.seal.cipher.encrypt_in_place(&nonce, &length, &mut plain).map_err(|_| broken("cannot seal"))?;
        self.out.extend_from_slice(&length);
        self.out.extend_from_slice(&plain);
        Ok(())
    }

    /// Opens the next record if all of it has come. Whether it had.
    fn open_record(&mut self) -> io::Result<bool> {
        let Some(length) = self.sealed.first_chunk::<LENGTH_BYTES>().copied() else { return Ok(false) };
        let bytes = u32::from_le_bytes(length) as usize;
        if !(TAG_BYTES..=SEALED_BYTES_MAX).contains(&bytes) {
            return Err(broken("a record of an impossible length"));
        }
        let Some(record) = self.sealed.get(LENGTH_BYTES..LENGTH_BYTES + bytes) else { return Ok(false) };
        self.plain.clear();
        self.plain.extend_from_slice(record);
        self.plain_start = 0;
        let nonce = self.open.nonce();
        let opened = self.open.cipher.decrypt_in_place(&nonce, &length, &mut self.plain);
        opened.map_err(|_| broken("a record was changed on its way"))?;
        self.sealed.drain(..LENGTH_BYTES + bytes);
        Ok(true)
    }

    /// Reads what the rest of one record takes at most. `false` at the end of the stream.
    fn read_sealed(&mut self) -> io::Result<bool> {
        let have = self.sealed.len();
        self.sealed.resize(LENGTH_BYTES + SEALED_BYTES_MAX, 0);
        // SAFETY: the bytes live during the call.
        let read = unsafe { self.inner.read(&[piece_mut(&mut self.sealed[have..])]) };
        self.sealed.truncate(have + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    /// Copies opened bytes to the pieces from `done` on. Answers how many are done then.
    ///
    /// # Safety
    /// The pieces must be writable.
    unsafe fn hand_out(&mut self, pieces: &[IoVec], mut done: usize) -> usize {
        let mut skip = done;
        for piece in pieces {
            let from = skip.min(piece.len);
            skip -= from;
            let taken = (piece.len - from).min(self.plain.len() - self.plain_start);
            let to = std::ptr::with_exposed_provenance_mut::<u8>(piece.base + from);
            // SAFETY: within the piece, which is the caller's to promise, and within the opened bytes.
            unsafe { to.copy_from_nonoverlapping(self.plain[self.plain_start..].as_ptr(), taken) };
            self.plain_start += taken;
            done += taken;
        }
        done
    }
}

impl<W: Wire> Wire for Sealed<W> {
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        if !self.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut plain = Vec::with_capacity(SEALED_BYTES_MAX);
        for piece in pieces {
            let taken = piece.len.min(RECORD_BYTES_MAX - plain.len());
            let start = std::ptr::with_exposed_provenance::<u8>(piece.base);
            // SAFETY: the piece is readable by the caller's promise.
            plain.extend_from_slice(unsafe { std::slice::from_raw_parts(start, taken) });
        }
        let bytes = plain.len();
        self.seal_record(plain)?;
        // The bytes are taken: what is not out yet goes first the next time.
        self.flush()?;
        Ok(bytes)
    }

    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let total: usize = pieces.iter().map(|piece| piece.len).sum();
        let mut done = 0;
        loop {
            // SAFETY: the caller's promise.
            done = unsafe { self.hand_out(pieces, done) };
            if done == total {
                return Ok(done);
            }
            if self.open_record()? {
                continue;
            }
            match self.read_sealed() {
                Ok(true) => {}
                Ok(false) => return Ok(done),
                Err(_) if done > 0 => return Ok(done),
                Err(error) => return Err(error),
            }
        }
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A wire that ends where it begins and takes few bytes at a time. Each second write can fail for now, by an error number.
    #[derive(Default)]
    struct Loop(VecDeque<u8>, Option<i32>, bool);

    impl Wire for Loop {
        unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
            self.2 = !self.2;
            if let Some(number) = self.1.filter(|_| self.2) {
                return Err(io::Error::from_raw_os_error(number));
            }
            let bytes = pieces[0].len.min(1000);
            let start = std::ptr::with_exposed_provenance::<u8>(pieces[0].base);
            // SAFETY: readable by the caller's promise.
            self.0.extend(unsafe { std::slice::from_raw_parts(start, bytes) });
            Ok(bytes)
        }
        unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
            let bytes = pieces[0].len.min(self.0.len()).min(700);
            if bytes == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            for at in 0..bytes {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(pieces[0].base + at);
                // SAFETY: writable by the caller's promise.
                unsafe { to.write(self.0.pop_front().unwrap_or_default()) };
            }
            Ok(bytes)
        }
    }

    fn pair() -> Sealed<Loop> {
        Sealed::new(Loop::default(), &[5; 32], &[5; 32])
    }

    fn send(wire: &mut Sealed<Loop>, bytes: &[u8]) {
        let mut sent = 0;
        while sent < bytes.len() {
            // SAFETY: the bytes live during the call.
            match unsafe { wire.write(&[piece(&bytes[sent..])]) } {
                Ok(taken) => sent += taken,
                Err(error) => assert!(is_transient(&error), "{error}"),
            }
        }
        while !wire.flush().unwrap() {}
    }

    fn receive(wire: &mut Sealed<Loop>, len: usize) -> io::Result<Vec<u8>> {
        let (mut first, mut second) = (vec![0; len / 3], vec![0; len - len / 3]);
        // SAFETY: the bytes live during the call.
        let got = unsafe { wire.read(&[piece_mut(&mut first), piece_mut(&mut second)]) }?;
        first.extend(second);
        first.truncate(got);
        Ok(first)
    }

    #[test]
    fn what_is_sealed_is_opened_and_nobody_reads_it() {
        let text: Vec<u8> = (0..100_000u32).map(|i| (i / 7) as u8).collect();
        let mut wire = pair();
        send(&mut wire, &text);
        let clear = text[1000..1016].to_vec();
        let on_wire: Vec<u8> = wire.inner.0.iter().copied().collect();
        assert!(on_wire.len() > text.len() && !on_wire.windows(16).any(|window| window == clear));
        assert_eq!(receive(&mut wire, text.len()).unwrap(), text);
        assert_eq!(receive(&mut wire, 10).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn nothing_is_sealed_twice_where_writes_fail_for_now() {
        let text: Vec<u8> = (0..100_000u32).map(|i| (i / 7) as u8).collect();
        for number in [libc::EAGAIN, libc::ENOBUFS, libc::ENOMEM, libc::EINTR] {
            let mut wire = pair();
            wire.inner.1 = Some(number);
            send(&mut wire, &text);
            assert_eq!(receive(&mut wire, text.len()).unwrap(), text, "{number}");
        }
    }

    #[test]
    fn a_change_anywhere_is_found() {
        for at in [0, 3, 4, 50, 119] {
            let mut wire = pair();
            send(&mut wire, &[1; 100]);
            wire.inner.0[at] ^= 1;
            let answer = receive(&mut wire, 100);
            assert!(answer.is_err(), "byte {at}: {answer:?}");
        }
    }

    #[test]
    fn a_record_cannot_be_repeated() {
        let mut wire = pair();
        send(&mut wire, &[1; 100]);
        let record = wire.inner.0.clone();
        wire.inner.0.extend(record);
        assert_eq!(receive(&mut wire, 100).unwrap(), [1; 100]);
        assert_eq!(receive(&mut wire, 100).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
