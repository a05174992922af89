//! Proxies, certificates and indexes that only some tools see: bug report R24.

use crate::diag::Code;
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::index::builtin;
use crate::knowledge::Knowledge;

/// Variables with certificates, each read by some tools only.
const CERTIFICATES: [&str; 4] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"];

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let value = |name: &str| facts.shell.variable(name);
    let mut found = Vec::new();
    for file in facts.network.certificate_files.iter().filter(|file| !file.there) {
        let names: Vec<&str> = CERTIFICATES.into_iter().filter(|name| value(name) == Some(&file.file)).collect();
        let who = if names.is_empty() { "a setting".to_owned() } else { names.join(" and ") };
        let seen = format!("{who} names `{}` for certificates, which is not there", file.file);
        let why = "what reads it trusts nobody, and every download over TLS fails";
        let diagnosis = Diagnosis::error(Code::ProxySet, Subject::Network, seen, why);
        let command = names.first().map_or_else(|| "macml doctor --network".to_owned(), |name| format!("unset {name}"));
        found.push(diagnosis.remedy("take it away, or let it name a file that is there").command(command));
    }
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        let upper = name.to_ascii_uppercase();
        if let (Some(lower), Some(other)) = (value(name), value(&upper))
            && lower != other
        {
            let seen = format!("{name} is `{lower}`, and {upper} is `{other}`");
            let why = "some tools read the one and some the other, so that some get through and some do not";
            let diagnosis = Diagnosis::warning(Code::ProxySet, Subject::Network, seen, why);
            found.push(diagnosis.remedy("set both to the same").command(format!("export {upper}=\"${name}\"")));
        }
    }
    let own = !facts.network.mirrors.is_empty();
    let others = facts.network.other_settings.iter().filter(|one| one.index != "pypi" && !own);
    for one in others {
        let seen = format!("{} is set to the index `{}`, in {}", one.tool, one.index, one.place);
        let why = "macml does not read it: it asks PyPI, and what macml.toml declares";
        let diagnosis = Diagnosis::note(Code::ForeignIndexSetting, Subject::Network, seen, why).about(&one.place);
        found.push(
            diagnosis
                .remedy("if it is a mirror that macml should use too, measure it and the built-in ones, and set the fastest")
                .command("macml doctor --network"),
        );
    }
    // Of built-in mirrors that nobody chose the table is enough.
    let chosen = |name: &String| {
        !builtin::MIRRORS.iter().any(|(known, _)| known == name) || facts.network.mirrors.contains(name)
    };
    for one in facts.network.measured.iter().filter(|one| one.error.is_some() && chosen(&one.name)) {
        let error = one.error.as_deref().unwrap_or_default();
        let seen = format!("`{}` did not answer: {error}", one.name);
        let why = "what is locked from there cannot be fetched";
        let diagnosis = Diagnosis::warning(Code::IndexUnreached, Subject::Network, seen, why);
        let says =
            match facts.network.measured.iter().find(|other| other.error.is_none() && other.bytes_per_second.is_some())
            {
                Some(other) => {
                    format!("take one that answered, such as `{}`, or look at the network's proxy", other.name)
                }
                None => "none answered: look at the connection, the proxy and its certificates".to_owned(),
            };
        found.push(diagnosis.remedy(says));
    }
    found
}
