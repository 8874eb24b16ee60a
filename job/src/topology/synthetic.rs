//! Machines that are not here: folders with what the kernel would tell of them, for tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A machine whose parts are all alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Sockets.
    pub sockets: u32,
    /// Memory nodes of each socket.
    pub nodes: u32,
    /// Caches of the third level of each node.
    pub caches: u32,
    /// Cores of each such cache.
    pub cores: u32,
    /// Hardware threads of each core.
    pub threads: u32,
    /// Whether processors are numbered round the sockets.
    pub interleaved: bool,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine { sockets: 1, nodes: 1, caches: 1, cores: 1, threads: 1, interleaved: false }
    }
}

impl Machine {
    /// Its number of processors.
    pub(super) fn processors(&self) -> u32 {
        self.all_cores() * self.threads
    }

    /// Writes what the kernel would tell of it into a folder, which removes itself.
    pub(super) fn write(&self, name: &str) -> Folder {
        let root = std::env::temp_dir().join(format!("tern-machine-{}-{name}", std::process::id()));
        let folder = Folder(root);
        for number in 0..self.processors() {
            self.write_processor(&folder, number);
        }
        let nodes = self.sockets * self.nodes;
        folder.put("node/online", &if nodes == 1 { "0".into() } else { format!("0-{}", nodes - 1) });
        for node in 0..nodes {
            let members = self.sharing(|core| self.node_of(core) == node);
            folder.put(&format!("node/node{node}/cpulist"), &members);
            let far = |other| if other == node { "10" } else { "20" };
            folder.put(
                &format!("node/node{node}/distance"),
                &(0..nodes).map(far).collect::<Vec<_>>().join(" "),
            );
        }
        folder
    }

    fn write_processor(&self, folder: &Folder, number: u32) {
        let core = number % self.all_cores();
        let socket = self.socket_of(core);
        let put = |file: &str, text: &str| folder.put(&format!("cpu/cpu{number}/{file}"), text);
        let same_core = self.sharing(|other| other == core);
        put("topology/physical_package_id", &socket.to_string());
        put("topology/thread_siblings_list", &same_core);
        put("topology/core_siblings_list", &self.sharing(|other| self.socket_of(other) == socket));
        let same_cache = self.sharing(|other| self.cache_of(other) == self.cache_of(core));
        let caches = [
            ("1", "Data", &same_core),
            ("1", "Instruction", &same_core),
            ("2", "Unified", &same_core),
            ("3", "Unified", &same_cache),
        ];
        for (index, (level, kind, sharing)) in caches.into_iter().enumerate() {
            put(&format!("cache/index{index}/level"), level);
            put(&format!("cache/index{index}/type"), kind);
            put(&format!("cache/index{index}/shared_cpu_list"), sharing);
        }
    }

    fn all_cores(&self) -> u32 {
        self.sockets * self.nodes * self.caches * self.cores
    }

    /// The place of a core among all, socket after socket.
    fn place_of(&self, core: u32) -> u32 {
        let of_socket = self.all_cores() / self.sockets;
        if self.interleaved { core % self.sockets * of_socket + core / self.sockets } else { core }
    }

    fn cache_of(&self, core: u32) -> u32 {
        self.place_of(core) / self.cores
    }

    fn node_of(&self, core: u32) -> u32 {
        self.cache_of(core) / self.caches
    }

    fn socket_of(&self, core: u32) -> u32 {
        self.node_of(core) / self.nodes
    }

    /// The processors of those cores, as a list.
    fn sharing(&self, is_one: impl Fn(u32) -> bool) -> String {
        let numbers = (0..self.processors()).filter(|number| is_one(number % self.all_cores()));
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// A folder that removes itself.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder can be made");
        fs::write(path, format!("{text}\n")).expect("a file can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
