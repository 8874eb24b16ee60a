//! Names of services, as PMI-1 asks for them. They are kept where all jobs of this user find them.

use tern_job::names;
use tern_job::pmi::escape;

use crate::tree::messages::Service;

/// The answer to a question about names.
pub(crate) fn answer(service: &Service) -> String {
    match service {
        Service::Publish { service, port } => {
            result("publish", names::publish(service, port, std::process::id()).map(|()| String::new()))
        }
        Service::Unpublish { service, port } => {
            result("unpublish", names::unpublish(service, port).map(|()| String::new()))
        }
        Service::Lookup { service } => {
            // A name that nobody has is no failure of the question.
            result("lookup", names::lookup(service).map(|port| format!(" port={}", port.unwrap_or_default())))
        }
        Service::Spawn(_) | Service::Met(_) | Service::Parted(_) => String::new(),
    }
}

fn result(what: &str, outcome: std::io::Result<String>) -> String {
    match outcome {
        Ok(more) => format!("cmd={what}_result rc=0 info=ok{more}"),
        Err(error) => format!("cmd={what}_result rc=-1 info=failed msg={}", escape(&error.to_string())),
    }
}
