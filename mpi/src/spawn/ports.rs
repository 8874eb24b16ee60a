//! Ports (MPI 5.0 section 11.9.2) and their names: `addresses:port#secret`. Whoever has the name may connect, and nobody else.

use std::borrow::Cow;

use tern_abi::*;
use tern_job::hex::{from_hex, to_hex};
use tern_tcp::{Tcp, endpoint_address_at, endpoint_address_of_text, text_of_endpoint_address};

use super::worlds::go_abroad;
use crate::core::boundary::OutText;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;

/// What a port's name says.
pub(super) struct PortName {
    /// Where.
    pub endpoint_address: Vec<u8>,
    /// What the two must both know.
    pub secret: [u8; 32],
}

/// Digits of the secret, and what separates it.
const SECRET_CHARS: usize = 65;

entry! {
    /// Opens a port at which processes of other worlds may connect.
    safe fn MPI_Open_port(info: MPI_Info, port_name: OutText<'_>) {
        let hints = enter().hints(info)?;
        let name = open(&hints)?;
        port_name.store(&name, MPI_MAX_PORT_NAME as usize);
        Ok(())
    }

    /// Closes a port; who waits there is refused.
    safe fn MPI_Close_port(port_name: Cow<'_, str>) {
        close(&port_name)
    }
}

/// The reserved key for the address at which a port is established. `ip_port` is not heeded: a process has one port for all.
const ADDRESS_KEY: &str = "ip_address";

/// Opens a port; its name.
pub(super) fn open(hints: &Info) -> Result<String> {
    go_abroad()?;
    let system = |error: std::io::Error| fail(MPI_ERR_OTHER, format!("no port can be opened: {error}"));
    let secret = tern_job::job::fresh_secret().map_err(system)?;
    let mut process = enter();
    let tcp = process.abroad_mut().ok_or_else(super::introduce::garbled)?;
    let mut endpoint_address = tcp.endpoint_address().map_err(system)?;
    if let Some(value) = hints.get(ADDRESS_KEY) {
        endpoint_address = at_address(&endpoint_address, value)?;
    }
    let place = text_of_endpoint_address(&endpoint_address, MPI_MAX_PORT_NAME as usize - SECRET_CHARS - 1)
        .ok_or_else(|| fail(MPI_ERR_OTHER, "this process has no address by which others could reach it"))?;
    let door = tcp.open_door(secret);
    let name = format!("{place}#{}", to_hex(&secret));
    process.worlds.ports.push((name.clone(), door));
    drop(process);
    crate::core::progress::look_abroad();
    Ok(name)
}

fn at_address(endpoint_address: &[u8], value: &str) -> Result<Vec<u8>> {
    let narrowed =
        value.trim().parse().ok().and_then(|address| endpoint_address_at(endpoint_address, address));
    narrowed.ok_or_else(|| {
        let text = format!("{ADDRESS_KEY}='{value}': this process can be reached at no such address");
        fail(MPI_ERR_INFO_VALUE, text)
    })
}

/// Closes a port of this process.
pub(super) fn close(name: &str) -> Result {
    let mut process = enter();
    let at = process.worlds.ports.iter().position(|(open, _)| open == name);
    let (_, door) = process.worlds.ports.swap_remove(at.ok_or_else(|| not_open(name))?);
    process.abroad_mut().into_iter().for_each(|tcp: &mut Tcp| tcp.shut_door(door));
    Ok(())
}

/// The door of a port that this process has opened.
pub(super) fn door_of(name: &str) -> Result<u64> {
    let process = enter();
    let found = process.worlds.ports.iter().find(|(open, _)| open == name).map(|(_, door)| *door);
    found.ok_or_else(|| not_open(name))
}

/// Reads a port's name.
pub(super) fn parse(name: &str) -> Result<PortName> {
    let parts = || {
        let (place, secret) = name.trim().split_once('#')?;
        let secret = from_hex(secret)?.try_into().ok()?;
        Some(PortName { endpoint_address: endpoint_address_of_text(place)?, secret })
    };
    parts().ok_or_else(|| {
        let shown = place_of(name);
        fail(
            MPI_ERR_PORT,
            format!(
                "'{shown}' is no name of a port, which is addresses:port#secret, as MPI_Open_port gives it"
            ),
        )
    })
}

/// A port's name without the secret, for a message.
pub(super) fn place_of(name: &str) -> String {
    let place = name.split('#').next().unwrap_or_default();
    place.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

#[cold]
fn not_open(name: &str) -> Box<Error> {
    let shown = place_of(name);
    fail(
        MPI_ERR_PORT,
        format!("this process has no open port with the name '{shown}#...': it never had, or has closed it"),
    )
}
