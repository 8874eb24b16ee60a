//! All fuzz targets as one program of libFuzzer. `TERN_FUZZ_TARGET` says which one runs; without it the program lists them.
//! `TERN_FUZZ_SEEDS` names a folder that gets the target's seeds.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// A target of any room.
struct Chosen {
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

fuzz_target!(
    init: {
        CHOSEN.get_or_init(choose);
    },
    |data: &[u8]| {
        if let Some(chosen) = CHOSEN.get() {
            (chosen.run)(data);
        }
    }
);

/// Each room has a type of its own for the same thing.
macro_rules! of_rooms {
    ($($room:path),*) => {{
        let mut all: Vec<Chosen> = Vec::new();
        $({
            use $room as room;
            all.extend(room::TARGETS.iter().map(|it| Chosen { name: it.name, run: it.run, seeds: it.seeds }));
        })*
        all
    }};
}

fn choose() -> Chosen {
    let all = of_rooms![
        tern_tcp::fuzz,
        tern_datagram::fuzz,
        tern_ofi::fuzz,
        tern_engine::fuzz,
        tern_engine::rma::fuzz,
        tern_coll::fuzz,
        tern_job::fuzz,
        tern_sim::fuzz,
        tern_urtp::fuzz,
        tern_mpirun::fuzz
    ];
    let names: Vec<&str> = all.iter().map(|target| target.name).collect();
    let name = std::env::var("TERN_FUZZ_TARGET").unwrap_or_default();
    let Some(chosen) = all.into_iter().find(|target| target.name == name) else {
        println!("{}", names.join("\n"));
        std::process::exit(if name.is_empty() { 0 } else { 2 });
    };
    if let Some(folder) = std::env::var_os("TERN_FUZZ_SEEDS") {
        write_seeds(&chosen, Path::new(&folder));
    }
    chosen
}

fn write_seeds(chosen: &Chosen, folder: &Path) {
    for (number, seed) in (chosen.seeds)().iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed).expect("a folder for the seeds");
    }
}
