//! Times reductions against plain C loops, compiled here with `cc -O3 -march=native`.
//!
//! `cargo run --release -p tern-mem --example reduce_speed [SIZE ...] [PART ...] [+OFF] [same]` prints one line per operation, representation
//! of a type and size: both speeds, counted in bytes of one operand, and the ratio of the times; and at the end the largest ratios. Up
//! to 1.2 is what we aim at. A size is in KiB, or in bytes as in `64B`. With parts of names ("prod complexf64") only those are timed; our
//! loop, not C's, gets its operands so many bytes off alignment; `same` makes all elements equal, instead of 1 and -1 as chance has it.

use std::error::Error;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tern_mem::basic::{Basic, Class, MachineType};
use tern_mem::op::{PredefinedOp, reduce};

/// In the first-level cache, and in memory, unless the command line names others.
const SIZES_BYTES: [usize; 2] = [16 << 10, 64 << 20];
/// Each size moves about this much per sample: long beside the clock, short beside one's patience.
const SAMPLE_BYTES: usize = 16 << 20;
const SAMPLES: usize = 9;
/// What misses the goal is measured again, and the shortest times of all rounds count: other programs may have run.
const ROUNDS_MAX: usize = 5;
/// The least sizes take nanoseconds, and half a million calls say enough.
const CALLS_MAX: usize = 1 << 19;
/// What takes longer is not vectorised by anybody, and sampled less.
const SAMPLE_LONG_S: f64 = 0.1;
/// The time of our loop over that of C's may be so much.
const GOAL: f64 = 1.2;

type Plain = unsafe extern "C" fn(*const u8, *mut u8, usize);

/// An operation on a type at a size, and how much longer than C's loop it takes.
struct Found {
    what: String,
    ratio: f64,
}

/// What the command line asks for.
#[derive(Default)]
struct Asked {
    sizes_bytes: Vec<usize>,
    parts: Vec<String>,
    how: How,
}

/// How the operands lie and what they hold.
#[derive(Clone, Copy, Default)]
struct How {
    off_bytes: usize,
    same: bool,
}

impl Asked {
    fn parse(words: impl Iterator<Item = String>) -> Result<Asked, Box<dyn Error>> {
        let mut asked = Asked::default();
        for word in words {
            match (word.strip_prefix('+'), word.strip_suffix('B')) {
                _ if word == "same" => asked.how.same = true,
                (Some(off), _) => asked.how.off_bytes = off.parse()?,
                (_, Some(bytes)) => asked.sizes_bytes.push(bytes.parse()?),
                _ => match word.parse::<usize>() {
                    Ok(kib) => asked.sizes_bytes.push(kib << 10),
                    Err(_) => asked.parts.push(word),
                },
            }
        }
        if asked.sizes_bytes.is_empty() {
            asked.sizes_bytes.extend(SIZES_BYTES);
        }
        Ok(asked)
    }

    fn has(&self, op: PredefinedOp, name: &str) -> bool {
        let what = format!("{} {name}", short(op));
        self.parts.is_empty() || self.parts.iter().any(|part| what.contains(part))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let library = compile()?;
    let asked = Asked::parse(std::env::args().skip(1))?;
    for &bytes in &asked.sizes_bytes {
        let mut found = Vec::new();
        for (basic, name) in types() {
            for op in PredefinedOp::ALL.into_iter().filter(|op| op.reduces() && op.allows(basic)) {
                if asked.has(op, &name) && bytes >= basic.extent() {
                    found.extend(compare(library, op, basic, &name, (bytes, asked.how)));
                }
            }
        }
        sum_up(bytes, found);
    }
    Ok(())
}

/// What an operation is called in `native/plain_loops.c`.
fn short(op: PredefinedOp) -> String {
    op.name().trim_start_matches("MPI_").to_lowercase()
}

/// One type of each representation, and what its loops are called in `native/plain_loops.c`.
fn types() -> Vec<(Basic, String)> {
    let mut types: Vec<(Basic, String)> = Vec::new();
    for basic in Basic::ALL {
        let name = match basic.class() {
            Class::Pair => format!("{basic:?}"),
            _ => format!("{:?}", basic.machine()),
        };
        let name = name.to_lowercase();
        match types.iter_mut().find(|(_, known)| *known == name) {
            // Of truth values and bytes there are fewer operations than of integers.
            Some((known, _)) if basic.class() == Class::CInteger => *known = basic,
            Some(_) => {}
            None => types.push((basic, name)),
        }
    }
    types
}

fn compare(
    library: *mut c_void,
    op: PredefinedOp,
    basic: Basic,
    name: &str,
    (bytes, how): (usize, How),
) -> Option<Found> {
    let what = format!("{op:<10} {name:<18}");
    let Some(plain) = load(library, &format!("plain_{name}_{}", short(op))) else {
        println!("{what} the compiler has no such type");
        return None;
    };
    let (mut tern, mut c) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS_MAX {
        let times = fastest(op, basic, plain, (bytes, how));
        (tern, c) = (tern.min(times.0), c.min(times.1));
        if tern <= GOAL * c {
            break;
        }
    }
    let ratio = tern / c;
    println!(
        "{what} {bytes:>9} B  tern {:6.1} GB/s  C {:6.1} GB/s  time ratio {ratio:.2}",
        speed(bytes, tern),
        speed(bytes, c),
    );
    Some(Found { what, ratio })
}

fn sum_up(bytes: usize, mut found: Vec<Found>) {
    found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let slow = found.iter().filter(|found| found.ratio > GOAL).count();
    println!("{bytes} B: {slow} of {} take more than {GOAL} times as long as C", found.len());
    for Found { what, ratio } in found.iter().take(5) {
        println!("    {what} {ratio:.2}");
    }
}

/// The shortest time of each, sampled in turns so that a disturbance meets both.
fn fastest(op: PredefinedOp, basic: Basic, plain: Plain, (bytes, how): (usize, How)) -> (f64, f64) {
    let count = bytes / basic.extent();
    let off = how.off_bytes;
    let (input, start) = (operand(basic, bytes, 1, how.same), operand(basic, bytes, 2, how.same));
    let (mut shifted, mut inout) = (vec![0; off + bytes], vec![0; off + bytes]);
    shifted[off..].copy_from_slice(&input);
    let mut best = (f64::MAX, f64::MAX);
    for sample in 0..SAMPLES {
        if sample > 1 && best.0.max(best.1) > SAMPLE_LONG_S {
            break;
        }
        inout[off..].copy_from_slice(&start);
        best.0 = best.0.min(per_call(bytes, || {
            // SAFETY: both arrays hold `count` elements behind `off` bytes, and they are two.
            unsafe { reduce(op, basic, shifted[off..].as_ptr(), inout[off..].as_mut_ptr(), count) }
        }));
        inout[..bytes].copy_from_slice(&start);
        best.1 = best.1.min(per_call(bytes, || {
            // SAFETY: as above; the loop was chosen for this type.
            unsafe { plain(input.as_ptr(), inout.as_mut_ptr(), count) }
        }));
    }
    best
}

/// Elements that are 1 or -1 as chance has it, with 0 or 1 for an index, so that no processor guesses what comes next. (Bytes that are
/// all the same would be quick, but for the numbers that they happen to be: of some the product is too small for its type, which takes
/// five times as long, and others are no long doubles at all.)
fn operand(basic: Basic, bytes: usize, mut seed: u64, same: bool) -> Vec<u8> {
    let mut operand = vec![0; bytes];
    for element in operand.chunks_exact_mut(basic.extent()) {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let chance = if same { 0 } else { seed };
        let pieces = basic.pieces();
        put_one(pieces[0].basic.machine(), chance >> 63 == 1, element);
        if let Some(index) = pieces.get(1).filter(|_| chance >> 62 & 1 == 1) {
            put_one(index.basic.machine(), false, &mut element[index.offset..]);
        }
    }
    operand
}

/// Writes 1 or -1, to the real part of a complex number.
fn put_one(machine: MachineType, negative: bool, to: &mut [u8]) {
    use MachineType::*;
    let (one, bits): (u128, u32) = match machine {
        F16 | ComplexF16 => (0x3c00, 16),
        F32 | ComplexF32 => (1.0_f32.to_bits().into(), 32),
        F64 | ComplexF64 => (1.0_f64.to_bits().into(), 64),
        LongDouble | ComplexLongDouble if cfg!(target_arch = "x86_64") => ((0x3fff << 64) | (1 << 63), 80),
        LongDouble | ComplexLongDouble | F128 | ComplexF128 => (0x3fff << 112, 128),
        _ if negative => (u128::MAX, 8 * machine.size() as u32),
        _ => (1, 8 * machine.size() as u32),
    };
    let number = one | u128::from(negative) << (bits - 1);
    let bytes = bits as usize / 8;
    to[..bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
}

/// Seconds that a call takes.
fn per_call(bytes: usize, mut call: impl FnMut()) -> f64 {
    let calls = (SAMPLE_BYTES / bytes).clamp(1, CALLS_MAX);
    let start = own_time();
    (0..calls).for_each(|_| call());
    (own_time() - start).as_secs_f64() / calls as f64
}

/// What this thread has had of a processor: others may need one for longer than a sample takes.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes to the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn speed(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}

/// Compiles the loops and loads them.
fn compile() -> Result<*mut c_void, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("native/plain_loops.c");
    let library = std::env::temp_dir().join(format!("plain_loops.{}.so", std::process::id()));
    let flags = ["-O3", "-march=native", "-shared", "-fPIC", "-o"];
    let status = Command::new("cc").args(flags).args([&library, &source]).status()?;
    if !status.success() {
        return Err(format!("cc did not compile {}", source.display()).into());
    }
    let path = CString::new(library.as_os_str().as_encoded_bytes())?;
    // SAFETY: the string ends in zero, and the library has no constructors.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    std::fs::remove_file(&library)?;
    if handle.is_null() { Err("the loops cannot be loaded".into()) } else { Ok(handle) }
}

fn load(library: *mut c_void, name: &str) -> Option<Plain> {
    let symbol = CString::new(name).ok()?;
    // SAFETY: the library is loaded and stays so.
    let symbol = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    // SAFETY: this is the type of all functions in native/plain_loops.c, but for what the pointers are said to point to.
    (!symbol.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Plain>(symbol) })
}
