//! What libfabric offers on this node, and which of it a job would use, for a person.

use tern_libfabric::{LibfabricError, Library, NetworkOffer};

use super::provider::{ProviderChoice, in_time, ordered, place};
use tern_transport::config::{OfiConfig, TransportConfig, TransportSetting};

/// Most offers that are named beside the one that would be used.
const NAMED_MAX: usize = 8;

/// What was found.
struct SurveyResult {
    version: String,
    /// Provider and interface, the best first, and whether the provider is for hardware.
    offers: Vec<(String, bool)>,
}

/// What is found, and what becomes of it under these settings, in one sentence. It asks the library, but opens no network.
pub fn survey(config: &TransportConfig) -> String {
    let choice = config.ofi;
    match in_time(choice.provider, &|alone| alone(), move || look(choice)) {
        Ok(found) => outcome(&found, choice, config.transport),
        Err(error) => format!("cannot be used: {error}"),
    }
}

fn look(choice: OfiConfig) -> Result<SurveyResult, LibfabricError> {
    let library = Library::open()?;
    let offers = ordered(library.offers(ProviderChoice::from(choice).hints())?);
    let mut named: Vec<(String, bool)> = offers.iter().map(name).collect();
    named.dedup();
    Ok(SurveyResult { version: library.version(), offers: named })
}

fn name(offer: &NetworkOffer) -> (String, bool) {
    (format!("{} on {}", offer.provider, offer.interface), place(offer).is_some())
}

fn outcome(found: &SurveyResult, choice: OfiConfig, route: TransportSetting) -> String {
    let SurveyResult { version, offers } = found;
    let Some(((best, is_hardware), others)) = offers.split_first() else {
        return format!("version {version} offers nothing");
    };
    let is_named = !choice.provider.is_empty() || choice.is_filtered;
    let used = match route {
        TransportSetting::Ofi => format!("{best} carries messages, since TERN_TRANSPORT=ofi"),
        TransportSetting::Auto if *is_hardware => {
            format!("{best} carries messages between hosts, since it is fabric hardware")
        }
        TransportSetting::Auto if is_named => {
            let variable = if choice.provider.is_empty() { "FI_PROVIDER" } else { "TERN_OFI_PROVIDER" };
            format!("{best} carries messages between hosts, since {variable} names it")
        }
        TransportSetting::Auto => {
            format!("not used, since there is no fabric hardware; with TERN_TRANSPORT=ofi {best} would be")
        }
        _ => "not used, since TERN_TRANSPORT names another way".into(),
    };
    // A provider is offered once for each kind of addresses.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in others {
        if name != best && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.len() > NAMED_MAX {
        names.truncate(NAMED_MAX);
        names.push("and others");
    }
    let also = if names.is_empty() { String::new() } else { format!("; also found: {}", names.join(", ")) };
    format!("version {version}: {used}{also}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(offers: &[(&str, bool)], provider: &'static str, route: TransportSetting) -> String {
        let offers = offers.iter().map(|&(name, is_hardware)| (name.to_owned(), is_hardware)).collect();
        let choice = OfiConfig { provider, ..OfiConfig::default() };
        outcome(&SurveyResult { version: "1.17".into(), offers }, choice, route)
    }

    #[test]
    fn it_says_what_would_be_used_and_why() {
        let twice = ("tcp on eth0", false);
        let tcp = [twice, ("sockets on lo", false), twice, ("sockets on lo", false)];
        assert_eq!(
            said(&tcp, "", TransportSetting::Auto),
            "version 1.17: not used, since there is no fabric hardware; with TERN_TRANSPORT=ofi tcp on eth0 would be; \
             also found: sockets on lo"
        );
        assert!(
            said(&tcp, "", TransportSetting::Ofi)
                .contains("tcp on eth0 carries messages, since TERN_TRANSPORT=ofi")
        );
        assert!(said(&tcp, "tcp", TransportSetting::Auto).contains("since TERN_OFI_PROVIDER names it"));
        assert!(
            said(&[("efa on rdmap0", true)], "", TransportSetting::Auto)
                .ends_with("since it is fabric hardware")
        );
        assert!(said(&tcp, "", TransportSetting::Tcp).contains("names another way"));
        assert_eq!(said(&[], "", TransportSetting::Auto), "version 1.17 offers nothing");
    }

    #[test]
    fn this_machine_has_the_library_or_a_reason() {
        let said = survey(&TransportConfig::default());
        assert!(said.starts_with("version ") || said.starts_with("cannot be used: "), "{said}");
        let none = TransportConfig {
            ofi: OfiConfig { provider: "no-such", ..OfiConfig::default() },
            ..TransportConfig::default()
        };
        assert!(survey(&none).starts_with("cannot be used: "), "{}", survey(&none));
    }
}
