//! Hosts of a test network in network namespaces, made by `tests/net/testnet.sh`; needs root.
// Each of those that include it uses a part.
#![allow(dead_code)]

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

/// A network that is there as long as this is.
pub(crate) struct Hosts {
    name: String,
    count: u32,
}

impl Hosts {
    /// So many hosts, named by a word of the caller's and the process; `rate` as for `tc`, "0" for no limit. `None` with a
    /// message where there can be none.
    pub(crate) fn new(word: &str, count: u32, rate: &str) -> Option<Hosts> {
        // SAFETY: it only answers.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: it needs root to make network namespaces");
            return None;
        }
        let hosts = Hosts { name: format!("{word}{}", std::process::id()), count };
        let made = testnet(&["up", &hosts.name, &count.to_string(), rate]);
        if !made {
            eprintln!("skipped: network namespaces cannot be made here");
        }
        made.then_some(hosts)
    }

    /// How many there are; the first is number 1.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Lets all interfaces carry packets of so many bytes.
    pub(crate) fn set_mtu(&self, bytes: u32) {
        let mtu = bytes.to_string();
        let set = |namespace: &str, interface: &str| {
            ip(&["-n", namespace, "link", "set", interface, "mtu", &mtu]);
        };
        for host in 1..=self.count {
            set(&format!("{}-{host}", self.name), "eth0");
            set(&format!("{}-switch", self.name), &format!("port{host}"));
        }
    }

    /// Cuts or mends the cable of a host.
    pub(crate) fn cable(&self, host: u32, mended: bool) {
        testnet(&[if mended { "mend" } else { "cut" }, &format!("{}-{host}", self.name)]);
    }

    /// Drops so many of a hundred packets that come to a host, by nftables. Whether that works here.
    pub(crate) fn lose(&self, host: u32, percent: u32) -> bool {
        let namespace = format!("{}-{host}", self.name);
        let rule = format!("numgen random mod 100 < {percent} drop");
        let chain = "{ type filter hook input priority 0; }";
        [vec!["add", "table", "inet", "loss"], vec!["add", "chain", "inet", "loss", "in", chain]]
            .into_iter()
            .chain([[
                &["add", "rule", "inet", "loss", "in", "iifname", "eth0"][..],
                &rule.split(' ').collect::<Vec<_>>(),
            ]
            .concat()])
            .all(|arguments| {
                let mut command = Command::new("ip");
                let command = command.args(["netns", "exec", &namespace, "nft"]).args(arguments);
                command.status().is_ok_and(|status| status.success())
            })
    }

    /// Moves the calling thread to a host, for good.
    pub(crate) fn enter(&self, host: u32) {
        let path = format!("/run/netns/{}-{host}", self.name);
        let namespace = std::fs::File::open(&path).expect("the host's namespace");
        // SAFETY: it changes nothing but in which network the thread's next sockets are.
        let answer = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(answer, 0, "{path}: {}", std::io::Error::last_os_error());
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        testnet(&["down", &self.name]);
    }
}

fn testnet(arguments: &[&str]) -> bool {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/net/testnet.sh");
    Command::new(script).args(arguments).status().is_ok_and(|status| status.success())
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status();
    assert!(status.is_ok_and(|status| status.success()), "ip {}", arguments.join(" "));
}
