//! Whether libfabric carries messages between hosts, and the endpoint with which it does.

use std::os::fd::OwnedFd;

use tern_ofi::{OfiError, Opened, ProviderChoice, split};
use tern_shm::host_answer;
use tern_transport::config::{TransportConfig, TransportSetting};
use tern_transport::directory::Directory;

use super::limits::HOST_ANSWER_MAX;

/// The directory for sockets, an endpoint of libfabric with its own, and a note for a person.
pub(super) type EndpointChoice = (Box<dyn Directory>, Option<(Opened, Box<dyn Directory>)>, Option<String>);

/// Opens an endpoint where libfabric is used: since the user wants it, or by itself for fabric hardware. Where it cannot be used though
/// nobody has forced it, sockets will do, and the note says why. Ranks of one host have the `segment` in common.
pub(super) fn endpoint(
    directory: Box<dyn Directory>,
    config: &TransportConfig,
    segment: Option<&OwnedFd>,
) -> Result<EndpointChoice, OfiError> {
    let is_forced = config.transport == TransportSetting::Ofi;
    let is_worth_trying =
        || config.transport == TransportSetting::Auto && ProviderChoice::from(config.ofi).is_worth_trying();
    if !is_forced && !is_worth_trying() {
        return Ok((directory, None, None));
    }
    let for_all = |find: &dyn Fn() -> u32| {
        let answer = segment.map(|segment| host_answer(segment, HOST_ANSWER_MAX, find));
        answer.and_then(Result::ok).unwrap_or_else(find)
    };
    let opened = match config.tcp.encrypt {
        true => Err(OfiError::InClear),
        false => Opened::new(config.ofi, config.fingerprint, is_forced, &for_all),
    };
    match opened.and_then(|opened| opened.bytes().map(|bytes| (opened, bytes))) {
        Ok((opened, bytes)) => {
            let note = format!("messages between hosts go over libfabric ({})", opened.described());
            let [sockets, endpoints] = split(directory, bytes);
            Ok((Box::new(sockets), Some((opened, Box::new(endpoints))), Some(note)))
        }
        Err(error) if is_forced => Err(error),
        Err(error) => Ok((directory, None, Some(format!("messages between hosts go over TCP: {error}")))),
    }
}
