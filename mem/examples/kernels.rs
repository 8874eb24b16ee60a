//! Which reductions were compiled to packed instructions, and which were not and why.
//!
//! `cargo run --release -p tern-mem --example kernels` disassembles this program with `objdump` and prints one line for
//! each kernel, also for those that are for registers that this machine may not have. Types of one representation share their kernels.
//! It fails if a kernel computes one element at a time and [`SCALAR`] does not say why, or the other way round, or in narrower registers
//! than it is for: then the list, or the kernel, is to be mended.

#[cfg(target_arch = "x86_64")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    x86_64::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("the instructions of this machine are not known to this program");
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::collections::{BTreeMap, BTreeSet};
    use std::error::Error;
    use std::process::Command;
    use tern_mem::basic::{Basic, Class};
    use tern_mem::op::{PredefinedOp, Registers, code};

    use PredefinedOp::{Land, Lor, Lxor, Max, Maxloc, Min, Minloc, Prod, Sum};

    /// Kernels that compute one element at a time: for these registers and narrower ones, types, operations, and the reason.
    const SCALAR: &[(Registers, &[&str], &[PredefinedOp], &str)] = &[
        (
            Registers::Widest,
            &["I128"],
            &[Sum, Prod, Min, Max],
            "no packed instruction carries or compares beyond 64 bits",
        ),
        (
            Registers::Widest,
            &["LongDouble", "ComplexLongDouble", "MPI_LONG_DOUBLE_INT"],
            &[Sum, Prod, Min, Max, Minloc, Maxloc],
            "x87 has no packed instructions",
        ),
        (
            Registers::Widest,
            &["F128", "ComplexF128"],
            &[Sum, Prod, Min, Max],
            "computed by the compiler's library, not by the processor",
        ),
        (
            Registers::Common,
            &["MPI_DOUBLE_INT", "MPI_LONG_INT", "I128"],
            &[Minloc, Maxloc, Land, Lor, Lxor],
            "SSE2 cannot compare integers of 64 bits",
        ),
    ];

    /// A function's instructions: mnemonic and operands.
    type Code = Vec<(String, String)>;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        if Command::new("objdump").arg("--version").output().is_err() {
            println!("nothing was looked at: there is no objdump here (package binutils)");
            return Ok(());
        }
        let program = Disassembly::of_this_program()?;
        let mut wrong = 0;
        let kernels = kernels(&program);
        for (&at, (on, name, op)) in &kernels {
            let (widest, reason) = (program.packed_bytes(at)?, reason(*on, name, *op));
            let expected = if reason.is_some() { 0 } else { bytes_of(*on) };
            let again = *on == Registers::Widest && program.loads_again(at);
            wrong += usize::from(widest != expected || again);
            let words =
                words(widest, expected, reason) + if again { ", loaded again for each use" } else { "" };
            println!("{:<6} {name:<21} {op:<10} {words}", format!("{on:?}"));
        }
        println!("{} kernels, {wrong} of them not as the list says", kernels.len());
        if wrong > 0 { Err("the kernels are not what they are said to be".into()) } else { Ok(()) }
    }

    /// All kernels by their addresses. What is the same for several registers is shown for the narrowest.
    fn kernels(program: &Disassembly) -> BTreeMap<usize, (Registers, String, PredefinedOp)> {
        let mut kernels = BTreeMap::new();
        for (on, basic) in Registers::ALL.into_iter().flat_map(|on| Basic::ALL.map(|basic| (on, basic))) {
            for op in PredefinedOp::ALL {
                if let Some(at) = code(op, basic, on) {
                    kernels.entry(at as usize - program.base).or_insert((on, type_name(basic), op));
                }
            }
        }
        kernels
    }

    fn reason(on: Registers, name: &str, op: PredefinedOp) -> Option<&'static str> {
        let is_it = |row: &&(Registers, &[&str], &[PredefinedOp], &str)| {
            on <= row.0 && row.1.contains(&name) && row.2.contains(&op)
        };
        SCALAR.iter().find(is_it).map(|row| row.3)
    }

    /// Bytes of one of these registers.
    fn bytes_of(on: Registers) -> usize {
        match on {
            Registers::Common => 16,
            Registers::Wide => 32,
            Registers::Widest => 64,
        }
    }

    fn words(packed_bytes: usize, expected_bytes: usize, reason: Option<&str>) -> String {
        match (packed_bytes, reason) {
            (0, Some(reason)) => format!("one at a time: {reason}"),
            (0, None) => "one at a time, and nobody knows why".into(),
            (bytes, Some(_)) => format!("packed, {bytes} bytes, which was thought impossible"),
            (bytes, None) if bytes != expected_bytes => {
                format!("packed, {bytes} bytes, not {expected_bytes}")
            }
            (bytes, None) => format!("packed, {bytes} bytes"),
        }
    }

    fn type_name(basic: Basic) -> String {
        match basic.class() {
            Class::Pair => format!("{basic}"),
            _ => format!("{:?}", basic.machine()),
        }
    }

    /// The code of this program, function by function.
    struct Disassembly {
        /// Where the program's first byte was loaded.
        base: usize,
        functions: BTreeMap<usize, (String, Code)>,
    }

    impl Disassembly {
        fn of_this_program() -> Result<Disassembly, Box<dyn Error>> {
            let program = std::env::current_exe()?;
            let maps = std::fs::read_to_string("/proc/self/maps")?;
            let name = program.to_string_lossy().into_owned();
            let first =
                maps.lines().find(|line| line.ends_with(&name)).ok_or("this program is nowhere in memory")?;
            let base = usize::from_str_radix(first.split('-').next().unwrap_or_default(), 16)?;
            let output = Command::new("objdump")
                .args(["-d", "--no-show-raw-insn", "-M", "att"])
                .arg(&program)
                .output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            }
            Ok(Disassembly { base, functions: functions(&String::from_utf8_lossy(&output.stdout)) })
        }

        /// Bytes of the widest registers that a kernel computes in and stores whole; 0 if it does neither.
        fn packed_bytes(&self, at: usize) -> Result<usize, Box<dyn Error>> {
            let (mut to_see, mut seen, mut widest) = (vec![at], BTreeSet::new(), 0);
            while let Some(at) = to_see.pop() {
                if !seen.insert(at) {
                    continue;
                }
                let (_, code) = self.functions.get(&at).ok_or("a kernel has no symbol")?;
                widest = widest.max(packed_bytes(code));
                to_see.extend(code.iter().filter_map(|(_, operands)| self.other_kernel(operands)));
            }
            Ok(widest)
        }

        /// Whether a kernel loads its operands anew for each use rather than once. Loads of a whole line that lie in two take so long
        /// while these are on their way from memory that it shows. (One that is left at the end may be loaded once more.)
        fn loads_again(&self, at: usize) -> bool {
            let code = self.functions.get(&at).map_or(&[][..], |(_, code)| code);
            let mut loads: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, operands) in code.iter().filter(|(_, operands)| operands.contains("%zmm")) {
                if let Some(source) = operands.split("),").next().filter(|source| source.starts_with('(')) {
                    *loads.entry(source).or_default() += 1;
                }
            }
            loads.values().any(|count| *count > 2)
        }

        /// Where a call or jump leads, if that is the same kernel for other registers.
        fn other_kernel(&self, operands: &str) -> Option<usize> {
            let (address, symbol) = operands.split_once(" <")?;
            let at = usize::from_str_radix(address.trim(), 16).ok()?;
            let symbol = symbol.trim_end_matches('>');
            (symbol.contains("6kernel") && self.functions.contains_key(&at)).then_some(at)
        }
    }

    fn functions(listing: &str) -> BTreeMap<usize, (String, Code)> {
        let mut functions = BTreeMap::new();
        let mut current: Option<&mut (String, Code)> = None;
        for line in listing.lines() {
            if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                let Ok(at) = usize::from_str_radix(address, 16) else { continue };
                current = Some(functions.entry(at).or_insert((name.to_owned(), Vec::new())));
            } else if let (Some((_, code)), Some((_, instruction))) = (&mut current, line.split_once(":\t")) {
                let (mnemonic, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
                code.push((mnemonic.trim().to_owned(), operands.trim().to_owned()));
            }
        }
        functions
    }

    /// The same of one function. One that stores under a mask instead is slow on some processors; a few such stores
    /// belong to what is left at the end of an array.
    fn packed_bytes(code: &Code) -> usize {
        let of = |wanted: fn(&str, &str) -> bool| {
            let found = code.iter().filter(move |(mnemonic, operands)| wanted(mnemonic, operands));
            found.map(|(_, operands)| register_bytes(operands))
        };
        if 2 * of(stores_under_a_mask).count() > of(stores_whole).count() {
            return 0;
        }
        let widest = |wanted| of(wanted).max().unwrap_or(0);
        widest(stores_whole).min(widest(computes))
    }

    fn register_bytes(operands: &str) -> usize {
        match operands {
            _ if operands.contains("%zmm") => 64,
            _ if operands.contains("%ymm") => 32,
            _ => 16,
        }
    }

    fn stores_under_a_mask(mnemonic: &str, operands: &str) -> bool {
        (mnemonic.starts_with("vmaskmov") || mnemonic.starts_with("vpmaskmov")) && operands.ends_with(')')
    }

    /// Whether a whole register is written to memory, if only as numbers of half the length.
    fn stores_whole(mnemonic: &str, operands: &str) -> bool {
        let moves = ["movups", "movaps", "movupd", "movapd", "movdqu", "movdqa", "cvtps2ph"];
        // Those of 512-bit registers say how long their elements are.
        let mnemonic = mnemonic.trim_start_matches('v').trim_end_matches(|c: char| c.is_ascii_digit());
        moves.contains(&mnemonic) && operands.ends_with(')')
    }

    /// Whether all parts of registers are computed with; what only sets a register to zero does not count.
    fn computes(mnemonic: &str, operands: &str) -> bool {
        let mnemonic = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
        let floats = ["add", "sub", "mul", "min", "max", "cmp", "and", "or", "xor"];
        let is_float = (mnemonic.ends_with("ps") || mnemonic.ends_with("pd"))
            && floats.iter().any(|start| mnemonic.starts_with(start));
        let integers = ["padd", "psub", "pmul", "pmin", "pmax", "pcmp", "pand", "por", "pxor"];
        let is_integer = integers.iter().any(|start| mnemonic.starts_with(start));
        let mut registers: Vec<&str> = operands.split(',').collect();
        registers.dedup();
        (is_float || is_integer) && registers.len() > 1
    }
}
