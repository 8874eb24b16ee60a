use super::*;
use tern_engine::settings::Rendezvous;

fn read(name: &'static str, value: &'static str) -> Result<Environment, BadValue> {
    Environment::read(|asked| (asked == name).then(|| value.into()))
}

#[test]
fn numbers_take_suffixes() {
    let credits = |value| read("TERN_CREDIT_BYTES", value).map(|all| all.engine.credit_bytes);
    assert_eq!(credits("64k"), Ok(65536));
    assert_eq!(credits("2M"), Ok(2 << 20));
    for bad in ["", "k", "many", "-1", "99999g", "4g", "1kk", "+", "1é"] {
        assert!(credits(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = || std::ffi::OsString::from_vec(b"/tmp/\xff".to_vec());
    for name in ["TERN_TRANSPORT", "TERN_COLL_TABLE"] {
        let said = Environment::read(|asked| (asked == name).then(bytes)).unwrap_err().to_string();
        assert_eq!(said, format!("{name}=/tmp/\u{fffd} is no text: it must be text in UTF-8"));
    }
}

#[test]
fn numbers_are_written_shortly() {
    assert_eq!(
        [0, 1, 1000, 1024, 16 << 10, 1 << 20, 3 << 30].map(text::number),
        ["0", "1", "1000", "1k", "16k", "1m", "3g"]
    );
}

#[test]
fn what_is_not_understood_is_said() {
    let said = |name, value| read(name, value).unwrap_err().to_string();
    assert_eq!(
        said("TERN_RENDEZVOUS", "push"),
        "TERN_RENDEZVOUS=push is not understood: it must be auto, get, put, cooperative or stream"
    );
    assert!(said("TERN_RINGS", "yes").ends_with("it must be 0 or 1"));
    assert!(
        said("TERN_CHECK", "types,leaks")
            .ends_with("it must be a list of: types, collectives, threads, windows")
    );
}

#[test]
fn of_numbers_out_of_range_the_range_is_said() {
    let said = |value| read("TERN_CREDIT_BYTES", value).unwrap_err().to_string();
    for value in
        ["99999999999", "4294967296", "4g", "99999999999999999999999", "99999999999999999g", "-1", "-2k"]
    {
        let expected =
            format!("TERN_CREDIT_BYTES={value} is out of range: it must be a number from 0 to 4294967295");
        assert_eq!(said(value), expected);
    }
    for value in ["", "k", "-", "many", "1kk", "1.5", "--1"] {
        assert!(said(value).contains(" is not understood: it must be a number, as in"), "{value}");
    }
    assert!(read("TERN_CREDIT_BYTES", "4294967295").is_ok());
}

#[test]
fn each_variable_reads_what_it_writes() {
    for variable in variables() {
        let mut all = Environment::default().in_effect();
        let before = variable.value(&all);
        variable.set(&mut all, &before).unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(variable.value(&all), before, "{}", variable.name);
    }
    assert_eq!(read("TERN_RENDEZVOUS", "cooperative").unwrap().engine.rendezvous, Rendezvous::Cooperative);
    assert!(!read("TERN_RINGS", "0").unwrap().transport.rings);
    assert!(read("TERN_CHECK", "types").unwrap().engine.check_types);
    assert!(!read("TERN_CHECK", "").unwrap().engine.check_types);
    assert!(!read("TERN_CHECK", "types").unwrap().engine.check_collectives);
    assert!(read("TERN_CHECK", "types,collectives").unwrap().engine.check_collectives);
    assert!(!read("TERN_CHECK", "types,collectives").unwrap().check_threads);
    assert!(read("TERN_CHECK", "threads").unwrap().check_threads);
    assert!(read("TERN_CHECK", "types,windows").unwrap().check_windows);
    assert!(!read("TERN_CHECK", "threads").unwrap().check_windows);
}

#[test]
fn limits_bound_what_is_asked_for() {
    let eager = |name, value| read(name, value).unwrap().engine.eager_bytes_max;
    assert_eq!(eager("TERN_EAGER_MAX", "0"), 0);
    assert_eq!(eager("TERN_EAGER_MAX", "1g"), tern_transport::limits::TCP_EAGER_BYTES as usize);
    // The longest that any transport takes: TCP's, which no message by cells exceeds unless it is told to take less.
    assert_eq!(eager("TERN_TCP_EAGER_BYTES", "512k"), 512 << 10);
    assert_eq!(
        eager("TERN_TCP_EAGER_BYTES", "4k"),
        tern_transport::TransportConfig::default().shm_eager_bytes_max(false)
    );
    assert_eq!(read("TERN_CELLS", "9999").unwrap().transport.cells, tern_transport::limits::CELLS_MAX);
    let parity = |value| read("TERN_MULTICAST_PARITY", value).unwrap().transport.multicast_parity;
    assert_eq!(["0", "1", "16", "99"].map(parity), [0, 2, 16, 32]);
    assert_eq!(read("TERN_CREDIT_BYTES", "1").unwrap().engine.credit_bytes, CREDIT_BYTES_MIN);
}

#[test]
fn indices_follow_the_categories() {
    assert_eq!(indices_of(0).start, 0);
    assert_eq!(indices_of(CATEGORIES.len() - 1).end, variables().count());
}

#[test]
fn what_ranks_must_share_is_a_variable_and_its_value_has_a_mark_of_its_own() {
    for name in SHARED {
        assert!(variable(name).is_some(), "{name}");
    }
    // What a category promises for all of its variables that change what travels.
    let own = [
        "TERN_INTERFACE",
        "TERN_OFI_INTERFACE",
        "TERN_MULTICAST_PARITY",
        "TERN_PEER_TIMEOUT",
        "TERN_TCP_CUTS",
    ];
    for category in
        CATEGORIES.iter().filter(|category| category.description.contains("the same on all ranks"))
    {
        for variable in category.variables.iter().filter(|variable| !own.contains(&variable.name)) {
            assert!(SHARED.contains(&variable.name), "{}", variable.name);
        }
    }
}
