//! The machine that a program was compiled for.

use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64};
use std::path::Path;

/// The place of the machine in the head of an executable.
const MACHINE_AT: usize = 18;

/// Why a program for another architecture, or of 32 bits, cannot run here; nothing of any other file.
pub fn another_machine(file: &Path) -> Option<String> {
    let machine_of = |path: &Path| -> Option<(u8, u16)> {
        let mut head = [0; MACHINE_AT + 2];
        std::io::Read::read_exact(&mut std::fs::File::open(path).ok()?, &mut head).ok()?;
        head.starts_with(b"\x7fELF")
            .then(|| (head[4], u16::from_le_bytes([head[MACHINE_AT], head[MACHINE_AT + 1]])))
    };
    let own = machine_of(Path::new("/proc/self/exe"))?;
    let other = machine_of(file)?;
    let file = file.display();
    match (own, other) {
        (own, other) if own == other => None,
        ((_, own), (_, other)) if own == other => {
            Some(format!("{file} is for this machine, but not of 64 bits: build it for 64 bits"))
        }
        ((_, own), (_, other)) => Some(format!(
            "{file} is for another machine ({}, here {}): build it for this one",
            architecture(other),
            architecture(own)
        )),
    }
}

/// The name of an architecture, by its number in the head of an executable.
fn architecture(machine: u16) -> String {
    let name = match machine {
        EM_386 => "i386",
        EM_ARM => "arm",
        EM_X86_64 => "x86_64",
        EM_AARCH64 => "aarch64",
        EM_PPC64 => "ppc64",
        EM_S390 => "s390x",
        EM_RISCV => "riscv",
        _ => return format!("ELF machine {machine}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_machine_is_told_by_its_name() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let file = std::env::temp_dir().join(format!("tern-another-machine-{}", std::process::id()));
        let with = |at: usize, byte: u8| {
            let mut head = own[..64].to_vec();
            head[at] = byte;
            std::fs::write(&file, head).unwrap();
            another_machine(&file)
        };
        let other =
            if cfg!(target_arch = "aarch64") { (EM_X86_64, "x86_64") } else { (EM_AARCH64, "aarch64") };
        assert!(
            with(MACHINE_AT, other.0 as u8).unwrap().contains(&format!("another machine ({}, here", other.1))
        );
        assert!(with(4, 1).unwrap().contains("not of 64 bits"));
        assert_eq!(with(4, own[4]), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(another_machine(Path::new("/etc/passwd")), None);
        assert_eq!((architecture(183), architecture(9999)), ("aarch64".into(), "ELF machine 9999".into()));
    }
}
