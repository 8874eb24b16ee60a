//! Times reductions against plain C loops, compiled here with `cc -O3 -march=native`.
//!
//! `cargo run --release -p tern-mem --example reduce_speed` prints one line per operation, type and size: both speeds, counted
//! in bytes of one operand, and the ratio of the times. Up to 1.2 is what we aim at.

use std::error::Error;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tern_mem::basic::Basic;
use tern_mem::op::{PredefinedOp, reduce};

/// In the first-level cache, in the second-level cache, in memory.
const SIZES_BYTES: [usize; 4] = [8 << 10, 256 << 10, 4 << 20, 64 << 20];
/// Each size moves about this much per sample: long beside the clock, short beside one's patience.
const SAMPLE_BYTES: usize = 64 << 20;
const SAMPLES: usize = 9;

/// What is compared, and the loop in `native/plain_loops.c`.
const CASES: [(PredefinedOp, Basic, &str); 11] = [
    (PredefinedOp::Sum, Basic::Double, "plain_double_sum"),
    (PredefinedOp::Max, Basic::Double, "plain_double_max"),
    (PredefinedOp::Sum, Basic::Float, "plain_float_sum"),
    (PredefinedOp::Sum, Basic::Int32, "plain_int32_sum"),
    (PredefinedOp::Prod, Basic::Int64, "plain_int64_prod"),
    (PredefinedOp::Bor, Basic::Uint8, "plain_uint8_bor"),
    (PredefinedOp::Min, Basic::Int16, "plain_int16_min"),
    (PredefinedOp::Land, Basic::Int32, "plain_int32_land"),
    (PredefinedOp::Prod, Basic::CDoubleComplex, "plain_double_complex_prod"),
    (PredefinedOp::Minloc, Basic::TwoInt, "plain_int_int_minloc"),
    (PredefinedOp::Maxloc, Basic::DoubleInt, "plain_double_int_maxloc"),
];

type Plain = unsafe extern "C" fn(*const u8, *mut u8, usize);

fn main() -> Result<(), Box<dyn Error>> {
    let library = compile()?;
    for (op, basic, name) in CASES {
        let plain = load(library, name)?;
        for bytes in SIZES_BYTES {
            let (tern, c) = fastest(op, basic, plain, bytes);
            println!(
                "{op:<10} {basic:<22} {:>6} KiB  tern {:6.1} GB/s  C {:6.1} GB/s  time ratio {:.2}",
                bytes >> 10,
                speed(bytes, tern),
                speed(bytes, c),
                tern.as_secs_f64() / c.as_secs_f64()
            );
        }
    }
    Ok(())
}

/// The shortest time of each, sampled in turns so that a disturbance meets both.
fn fastest(op: PredefinedOp, basic: Basic, plain: Plain, bytes: usize) -> (Duration, Duration) {
    let count = bytes / basic.extent();
    // Bytes of 1 are small numbers of every type, none of which traps or is subnormal; a product of them stays one.
    let input = vec![1u8; bytes];
    let mut inout = vec![1u8; bytes];
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..SAMPLES {
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

fn load(library: *mut c_void, name: &str) -> Result<Plain, Box<dyn Error>> {
    let symbol = CString::new(name)?;
    // SAFETY: the library is loaded and stays so.
    let symbol = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    if symbol.is_null() {
        return Err(format!("there is no {name}").into());
    }
    // SAFETY: this is the type of all functions in native/plain_loops.c, but for what the pointers are said to point to.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Plain>(symbol) })
}
