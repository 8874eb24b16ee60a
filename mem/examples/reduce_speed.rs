//! Times reductions against plain C loops, compiled here with `cc -O3 -march=native`.
//!
//! `cargo run --release -p tern-mem --example reduce_speed [KIB ...]` prints one line per operation, representation of a type and size:
//! both speeds, counted in bytes of one operand, and the ratio of the times; and at the end the largest ratios. Up to 1.2 is what we
//! aim at.

use std::error::Error;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tern_mem::basic::{Basic, Class};
use tern_mem::op::{PredefinedOp, reduce};

/// In the first-level cache, and in memory, unless the command line names others, in KiB.
const SIZES_BYTES: [usize; 2] = [16 << 10, 64 << 20];
/// Each size moves about this much per sample: long beside the clock, short beside one's patience.
const SAMPLE_BYTES: usize = 16 << 20;
const SAMPLES: usize = 9;
/// What misses the goal is measured again, and the shortest times of all rounds count: other programs may have run.
const ROUNDS_MAX: usize = 5;
/// What takes longer is not vectorised by anybody, and sampled less.
const SAMPLE_LONG: Duration = Duration::from_millis(100);
/// The time of our loop over that of C's may be so much.
const GOAL: f64 = 1.2;

type Plain = unsafe extern "C" fn(*const u8, *mut u8, usize);

/// An operation on a type at a size, and how much longer than C's loop it takes.
struct Found {
    what: String,
    ratio: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let library = compile()?;
    let sizes: Result<Vec<usize>, _> = std::env::args().skip(1).map(|word| word.parse::<usize>()).collect();
    let sizes = match sizes?.as_slice() {
        [] => SIZES_BYTES.to_vec(),
        kib => kib.iter().map(|kib| kib << 10).collect(),
    };
    for bytes in sizes {
        let mut found = Vec::new();
        for (basic, name) in types() {
            for op in PredefinedOp::ALL.into_iter().filter(|op| op.reduces() && op.allows(basic)) {
                found.extend(compare(library, op, basic, &name, bytes));
            }
        }
        sum_up(bytes, found);
    }
    Ok(())
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

fn compare(library: *mut c_void, op: PredefinedOp, basic: Basic, name: &str, bytes: usize) -> Option<Found> {
    let short = op.name().trim_start_matches("MPI_").to_lowercase();
    let what = format!("{op:<10} {name:<18}");
    let Some(plain) = load(library, &format!("plain_{name}_{short}")) else {
        println!("{what} the compiler has no such type");
        return None;
    };
    let (mut tern, mut c) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS_MAX {
        let times = fastest(op, basic, plain, bytes);
        (tern, c) = (tern.min(times.0), c.min(times.1));
        if tern.as_secs_f64() <= GOAL * c.as_secs_f64() {
            break;
        }
    }
    let ratio = tern.as_secs_f64() / c.as_secs_f64();
    println!(
        "{what} {:>6} KiB  tern {:6.1} GB/s  C {:6.1} GB/s  time ratio {ratio:.2}",
        bytes >> 10,
        speed(bytes, tern),
        speed(bytes, c),
    );
    Some(Found { what, ratio })
}

fn sum_up(bytes: usize, mut found: Vec<Found>) {
    found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let slow = found.iter().filter(|found| found.ratio > GOAL).count();
    println!("{} KiB: {slow} of {} take more than {GOAL} times as long as C", bytes >> 10, found.len());
    for Found { what, ratio } in found.iter().take(5) {
        println!("    {what} {ratio:.2}");
    }
}

/// The shortest time of each, sampled in turns so that a disturbance meets both.
fn fastest(op: PredefinedOp, basic: Basic, plain: Plain, bytes: usize) -> (Duration, Duration) {
    let count = bytes / basic.extent();
    // Bytes of 1 are small numbers of every type, none of which traps or is subnormal; a product of them stays one.
    let input = vec![1u8; bytes];
    let mut inout = vec![1u8; bytes];
    let mut best = (Duration::MAX, Duration::MAX);
    for sample in 0..SAMPLES {
        if sample > 1 && best.0.max(best.1) > SAMPLE_LONG {
            break;
        }
        inout.fill(1);
        best.0 = best.0.min(per_call(bytes, || {
            // SAFETY: both arrays hold `count` elements, and they are two.
            unsafe { reduce(op, basic, input.as_ptr(), inout.as_mut_ptr(), count) }
        }));
        inout.fill(1);
        best.1 = best.1.min(per_call(bytes, || {
            // SAFETY: as above; the loop was chosen for this type.
            unsafe { plain(input.as_ptr(), inout.as_mut_ptr(), count) }
        }));
    }
    best
}

fn per_call(bytes: usize, mut call: impl FnMut()) -> Duration {
    let calls = (SAMPLE_BYTES / bytes).max(1) as u32;
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed() / calls
}

fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
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
