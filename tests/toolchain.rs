//! The compiler that `rust-version` promises can build what `Cargo.lock` names: users of a distribution's compiler have no newer one.

#![forbid(unsafe_code)]

use std::process::Command;

use serde_json::Value;

/// Major and minor number; what stands behind them does not matter to `rust-version`.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split('.').map(|number| number.parse().expect("a number"));
    (numbers.next().expect("a major number"), numbers.next().unwrap_or(0))
}

#[test]
fn every_dependency_builds_with_the_promised_compiler() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let promised = version(env!("CARGO_PKG_RUST_VERSION"));
    let too_new: Vec<String> = packages
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|wants| version(wants) > promised))
        .map(|package| {
            format!("{} {} wants Rust {}", package["name"], package["version"], package["rust_version"])
        })
        .collect();
    assert!(packages.len() > 20, "the packages were found");
    assert!(too_new.is_empty(), "choose older ones by 'cargo update': {too_new:#?}");
}
