//! Times `MPI_SUM` on doubles against a plain C loop, compiled here with `cc -O3 -march=native`.
//!
//! `cargo run --release -p tern-mem --example reduce_speed` prints one line per size: both speeds, counted in
//! bytes of one operand, and the ratio of the times. Up to 1.2 is what we aim at.

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

type PlainSum = unsafe extern "C" fn(*const f64, *mut f64, usize);

fn main() -> Result<(), Box<dyn Error>> {
    let plain = compile_plain_sum()?;
    for bytes in SIZES_BYTES {
        let (tern, c) = fastest(plain, bytes / size_of::<f64>());
        println!(
            "{:>6} KiB  tern {:6.1} GB/s  C {:6.1} GB/s  time ratio {:.2}",
            bytes >> 10,
            speed(bytes, tern),
            speed(bytes, c),
            tern.as_secs_f64() / c.as_secs_f64()
        );
    }
    Ok(())
}

fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// The shortest time of each, sampled in turns so that a disturbance meets both.
fn fastest(plain: PlainSum, count: usize) -> (Duration, Duration) {
    let input = vec![1e-9; count];
    let mut sums = vec![1.0; count];
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..SAMPLES {
        best.0 = best.0.min(per_call(count, || {
            let (from, onto) = (input.as_ptr().cast(), sums.as_mut_ptr().cast());
            // SAFETY: both arrays hold `count` doubles, and they are two.
            unsafe { reduce(PredefinedOp::Sum, Basic::Double, from, onto, count) }
        }));
        best.1 = best.1.min(per_call(count, || {
            // SAFETY: as above.
            unsafe { plain(input.as_ptr(), sums.as_mut_ptr(), count) }
        }));
    }
    best
}

fn per_call(count: usize, mut call: impl FnMut()) -> Duration {
    let calls = (SAMPLE_BYTES / size_of::<f64>() / count).max(1) as u32;
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed() / calls
}

fn compile_plain_sum() -> Result<PlainSum, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("native/plain_sum.c");
    let library = std::env::temp_dir().join(format!("plain_sum.{}.so", std::process::id()));
    let flags = ["-O3", "-march=native", "-shared", "-fPIC", "-o"];
    let status = Command::new("cc").args(flags).args([&library, &source]).status()?;
    if !status.success() {
        return Err(format!("cc did not compile {}", source.display()).into());
    }
    let loaded = load_plain_sum(&library);
    std::fs::remove_file(&library)?;
    loaded
}

fn load_plain_sum(library: &Path) -> Result<PlainSum, Box<dyn Error>> {
    let path = CString::new(library.as_os_str().as_encoded_bytes())?;
    // SAFETY: the strings end in zero, and the library has no constructors.
    let symbol = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if handle.is_null() { std::ptr::null_mut() } else { libc::dlsym(handle, c"plain_sum".as_ptr()) }
    };
    if symbol.is_null() {
        return Err(format!("no plain_sum in {}", library.display()).into());
    }
    // SAFETY: this is the function's type in native/plain_sum.c.
    Ok(unsafe { std::mem::transmute::<*mut c_void, PlainSum>(symbol) })
}
