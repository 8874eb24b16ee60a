//! Names of services (MPI 5.0 section 11.9.4): the launcher passes them on, and those of one user find each other's.

use std::borrow::Cow;

use tern_abi::*;

use super::start::launcher;
use crate::core::boundary::OutText;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::enter;

entry! {
    /// Makes a port known under a name.
    safe fn MPI_Publish_name(service_name: Cow<'_, str>, info: MPI_Info, port_name: Cow<'_, str>) {
        let service = named(&service_name)?;
        enter().hints(info)?;
        super::ports::parse(&port_name)?;
        launcher()?.publish(&service, &port_name).map_err(|why| fail(MPI_ERR_SERVICE, format!("the name '{service}' is not published: {why}")))
    }

    /// Takes a published name back.
    safe fn MPI_Unpublish_name(service_name: Cow<'_, str>, info: MPI_Info, port_name: Cow<'_, str>) {
        let service = named(&service_name)?;
        enter().hints(info)?;
        launcher()?.unpublish(&service, &port_name).map_err(|why| fail(MPI_ERR_SERVICE, format!("the name '{service}' is not taken back: {why}")))
    }

    /// The port that was published under a name.
    safe fn MPI_Lookup_name(service_name: Cow<'_, str>, info: MPI_Info, port_name: OutText<'_>) {
        let service = named(&service_name)?;
        enter().hints(info)?;
        match launcher()?.lookup(&service) {
            Ok(Some(port)) => port_name.store(&port, MPI_MAX_PORT_NAME as usize),
            Ok(None) => return Err(fail(MPI_ERR_NAME, unknown(&service))),
            Err(why) => return Err(fail(MPI_ERR_NAME, format!("the name '{service}' cannot be looked up: {why}"))),
        };
        Ok(())
    }
}

/// A name that can be published.
fn named(service: &str) -> Result<String> {
    let bad = |what: &str| -> Box<Error> { fail(MPI_ERR_SERVICE, format!("the service_name {what}")) };
    match service {
        "" => Err(bad("is empty")),
        _ if service.len() > SERVICE_BYTES_MAX => Err(bad("is longer than 255 bytes")),
        _ => Ok(service.to_owned()),
    }
}

/// What holds of names.
fn unknown(service: &str) -> String {
    format!(
        "nobody has published the name '{service}': names are known to the jobs of one user whose mpirun runs on one host, or has the \
         same folder in TERN_NAMES"
    )
}

const SERVICE_BYTES_MAX: usize = 255;
