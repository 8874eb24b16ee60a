//! Other MPI libraries that are installed: found, asked for their names, and given the same source to compile.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::limits::COMPILE_LIMIT_S;
use super::options::OtherLibrary;
use crate::installation::{Installation, ScratchFolder};
use crate::run::Invocation;

/// How a library is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// MPICH's launcher, and that of its relatives.
    Hydra,
    /// Open MPI's.
    OpenMpi,
    /// Something else.
    Other,
}

/// A library that can be measured.
#[derive(Clone, Debug)]
pub(super) struct PeerLibrary {
    /// What it is called.
    pub name: String,
    /// What it calls itself.
    pub version: String,
    /// Its launcher.
    pub mpirun: PathBuf,
    /// `netpipe.c`, compiled for it.
    pub program: PathBuf,
    /// How it is launched.
    pub flavour: Flavour,
}

/// Wrappers with the launchers that belong to them; the later ones are those of distributions that have several.
const PAIRS: &[(&str, &str)] =
    &[("mpicc", "mpiexec"), ("mpicc.mpich", "mpiexec.mpich"), ("mpicc.openmpi", "mpiexec.openmpi")];

/// What libraries say of themselves begins so.
const KNOWN: &[(&str, &str, Flavour)] = &[
    ("MPICH", "mpich", Flavour::Hydra),
    ("Open MPI", "openmpi", Flavour::OpenMpi),
    ("Intel(R) MPI", "intel", Flavour::Hydra),
    ("MVAPICH", "mvapich", Flavour::Hydra),
];

/// Wrappers and launchers in `PATH` and beside the installation, as `make bench` puts them there.
pub(super) fn look(here: &Installation) -> Vec<(PathBuf, PathBuf)> {
    let path = env::var_os("PATH").unwrap_or_default();
    let beside = here.tree.parent().map(|build| build.join("peers"));
    let homes = beside.and_then(|peers| fs::read_dir(peers).ok()).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(homes.map(|home| home.path().join("bin")));
    candidates(&folders)
}

fn candidates(folders: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    // A Tern of another tree is no other library.
    for folder in folders.iter().filter(|folder| !folder.join("tern").exists()) {
        for (mpicc, mpirun) in PAIRS {
            let pair = (folder.join(mpicc), folder.join(mpirun));
            let is_new = |pair: &(PathBuf, PathBuf)| !found.iter().any(|(known, _)| same(known, &pair.0));
            if pair.0.is_file() && pair.1.is_file() && is_new(&pair) {
                found.push(pair);
            }
        }
    }
    found
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    real(one) == real(other)
}

/// The libraries that are asked for, and those that are there; with what is to say of those that cannot take part.
pub(super) fn prepare(
    asked: &[OtherLibrary],
    found: &[(PathBuf, PathBuf)],
    sources: &Path,
    scratch: &ScratchFolder,
) -> (Vec<PeerLibrary>, Vec<String>) {
    let (mut peers, mut complaints) = (Vec::<PeerLibrary>::new(), Vec::new());
    let named = asked.iter().map(|asked| (Some(asked.name.as_str()), &asked.mpicc, &asked.mpirun));
    let all = named.chain(found.iter().map(|(mpicc, mpirun)| (None, mpicc, mpirun)));
    for (number, (name, mpicc, mpirun)) in all.enumerate() {
        let program = scratch.file(&format!("netpipe-{number}"));
        match PeerLibrary::new(name, mpicc, mpirun, sources, program) {
            Ok(peer) if peers.iter().any(|known| known.version == peer.version) => {}
            Ok(peer) if peer.version.starts_with("Tern") => {}
            Ok(peer) => peers.push(unlike(&peers, peer)),
            Err(why) => complaints.push(format!("{} is left out: {why}", mpicc.display())),
        }
    }
    (peers, complaints)
}

/// With a name that no other has.
fn unlike(peers: &[PeerLibrary], mut peer: PeerLibrary) -> PeerLibrary {
    let taken = |name: &str| {
        ["tern", "raw", "raw-blocking"].contains(&name) || peers.iter().any(|known| known.name == name)
    };
    let plain = peer.name.clone();
    let mut number = 2;
    while taken(&peer.name) {
        peer.name = format!("{plain}-{number}");
        number += 1;
    }
    peer
}

impl PeerLibrary {
    fn new(
        name: Option<&str>,
        mpicc: &Path,
        mpirun: &Path,
        sources: &Path,
        program: PathBuf,
    ) -> Result<PeerLibrary, String> {
        compile(mpicc, sources, &program)?;
        let mut peer = PeerLibrary {
            name: name.unwrap_or("other").into(),
            version: String::new(),
            mpirun: mpirun.into(),
            program,
            flavour: Flavour::Other,
        };
        peer.version = peer.ask_version()?;
        let known = KNOWN.iter().find(|(start, ..)| peer.version.starts_with(start));
        if let Some((_, usual, flavour)) = known {
            peer.flavour = *flavour;
            peer.name = name.unwrap_or(usual).into();
        }
        Ok(peer)
    }

    /// The first line of the version that the library reports: the proof that it works here.
    fn ask_version(&self) -> Result<String, String> {
        let words = ["-n", "1", &self.program.display().to_string(), "version"].map(String::from).to_vec();
        let settings = self.settings(false);
        let output =
            Invocation { program: self.mpirun.clone(), words, settings, limit_s: COMPILE_LIMIT_S }.run()?;
        let line = output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let words: Vec<&str> =
            line.split(", package:").next().unwrap_or_default().split_whitespace().collect();
        Ok(words.join(" "))
    }

    /// What it needs to run as root and with fewer cores than ranks, and if sockets are wanted, to use them between ranks of
    /// one machine, too.
    pub(super) fn settings(&self, tcp: bool) -> Vec<(String, String)> {
        let always = [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ];
        let sockets = [
            ("MPIR_CVAR_NOLOCAL", "1"),
            ("FI_PROVIDER", "tcp"),
            ("UCX_TLS", "tcp,self"),
            ("I_MPI_FABRICS", "ofi"),
            ("OMPI_MCA_pml", "ob1"),
            ("OMPI_MCA_btl", "tcp,self"),
        ];
        let all = always.into_iter().chain(sockets.into_iter().filter(|_| tcp));
        all.map(|(name, value)| (name.into(), value.into())).collect()
    }
}

fn compile(mpicc: &Path, sources: &Path, program: &Path) -> Result<(), String> {
    let sources = sources.display().to_string();
    let words = vec![
        "-O2".into(),
        "-I".into(),
        sources.clone(),
        "-o".into(),
        program.display().to_string(),
        format!("{sources}/netpipe.c"),
    ];
    Invocation { program: mpicc.into(), words, settings: vec![], limit_s: COMPILE_LIMIT_S }.run().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str) -> PeerLibrary {
        let (version, flavour) = (name.into(), Flavour::Other);
        PeerLibrary { name: name.into(), version, mpirun: "m".into(), program: "p".into(), flavour }
    }

    #[test]
    fn libraries_are_found_once_and_tern_is_none() {
        let scratch = ScratchFolder::new("tern-netpipe-peers-test").unwrap();
        for file in ["a/mpicc", "a/mpiexec", "b/mpicc", "c/mpicc", "c/mpiexec", "c/tern"] {
            let file = scratch.file(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let folders = ["a", "a", "b", "c", "missing"].map(|name| scratch.file(name));
        let found = candidates(&folders);
        assert_eq!(found, [(scratch.file("a/mpicc"), scratch.file("a/mpiexec"))]);
    }

    #[test]
    fn names_are_told_apart() {
        assert_eq!(unlike(&[], peer("mpich")).name, "mpich");
        assert_eq!(unlike(&[peer("mpich"), peer("mpich-2")], peer("mpich")).name, "mpich-3");
        assert_eq!(unlike(&[], peer("raw")).name, "raw-2");
    }

    #[test]
    fn one_that_cannot_be_compiled_is_left_out_with_the_reason() {
        let scratch = ScratchFolder::new("tern-netpipe-compile-test").unwrap();
        let asked =
            [OtherLibrary { name: "x".into(), mpicc: "/bin/false".into(), mpirun: "/bin/false".into() }];
        let (peers, complaints) = prepare(&asked, &[], Path::new("."), &scratch);
        assert!(peers.is_empty() && complaints[0].contains("/bin/false is left out"), "{complaints:?}");
    }
}
