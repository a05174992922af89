//! The network, without asking it: the system's proxy, certificates, macml's mirrors, what pip and uv are set to.

use std::path::PathBuf;

use crate::doctor::Facts;
use crate::doctor::facts::Certificates;
use crate::doctor::facts::Network;
use crate::doctor::facts::OtherSetting;
use crate::index;
use crate::sys::fs;

use super::Look;
use super::glance::unseen;
use super::plist::Plist;

/// Where macOS keeps the network's settings.
const SETTINGS: &str = "/Library/Preferences/SystemConfiguration/preferences.plist";

/// Where macOS keeps what an administrator trusts:
/// <https://twocanoes.com/trusting-certificates-in-system-keychain-without-prompting/>.
const TRUST: &str = "/Library/Security/Trust Settings/Admin.plist";

/// Certificates that every Mac makes for itself and trusts.
const OF_EVERY_MAC: [&str; 2] = ["com.apple.systemdefault", "com.apple.kerberos.kdc"];

/// Where administrators put certificates on Linux.
const ADDED: [&str; 2] = ["/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors"];

/// Variables that name a file of certificates.
const VARIABLES: [&str; 4] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"];

/// How much of the settings is read.
const MOST: u64 = 8 << 20;

/// Looks at the settings of the network.
pub(super) fn network(look: &Look<'_>, facts: &mut Facts) {
    let mut network = Network { certificate_files: certificate_files(look), ..Network::default() };
    if look.is_mac() {
        if let Some(settings) = plist(look, SETTINGS, "the network's settings", facts) {
            network.system_proxy = settings.and_then(|settings| system_proxy(&settings));
        }
        if let Some(trust) = plist(look, TRUST, "the certificates that an administrator trusts", facts) {
            network.added_authorities = Some(trust.map_or(0, |trust| added_authorities(&trust)));
        }
    } else {
        let count = |folder: &str| fs::names(&look.at(folder)).map_or(0, |names| names.len() as u64);
        network.added_authorities = Some(ADDED.iter().map(|folder| count(folder)).sum());
    }
    if let Some(config) = look.config {
        network.mirrors = config.mirrors.iter().map(|mirror| mirror.label.clone()).collect();
    }
    let project = look.project.as_deref();
    let others = index::foreign_indexes(look.env, project, look.root).into_iter();
    network.other_settings = others
        .map(|one| OtherSetting { tool: one.tool.to_owned(), place: one.place.replace('`', ""), index: one.index })
        .collect();
    network.measured = std::mem::take(&mut facts.network.measured);
    facts.network = network;
}

/// Reads a property list: `Some(None)` where there is none, and `None` where it cannot be read, which is noted.
fn plist(look: &Look<'_>, path: &str, what: &str, facts: &mut Facts) -> Option<Option<Plist>> {
    let why = match fs::read_start(&look.at(path), MOST) {
        Ok(None) => return Some(None),
        Ok(Some(bytes)) => match Plist::read(&bytes) {
            Some(plist) => return Some(Some(plist)),
            None => format!("`{path}` is not understood"),
        },
        Err(error) => format!("`{path}`: {}", error.cause),
    };
    unseen(facts, what, why);
    None
}

/// Finds the first proxy that is switched on, in the order in which the set in force has its services: which of them is
/// connected is not told there.
fn system_proxy(settings: &Plist) -> Option<String> {
    let set = settings.get("CurrentSet")?.text()?.trim_start_matches("/Sets/");
    let network = settings.at(&["Sets", set, "Network"])?;
    let order = network.at(&["Global", "IPv4", "ServiceOrder"]).map(Plist::items).unwrap_or_default();
    let services = network.get("Service")?;
    let rest = services.entries().map(|(id, _)| id.as_str());
    let mut seen = Vec::new();
    for id in order.iter().filter_map(Plist::text).chain(rest) {
        if seen.contains(&id) || services.get(id).is_none() {
            continue;
        }
        seen.push(id);
        let Some(service) = settings.at(&["NetworkServices", id]) else { continue };
        if service.get("__INACTIVE__").and_then(Plist::number) == Some(1) {
            continue;
        }
        let found = service.get("Proxies").and_then(proxy);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Says a proxy that is switched on; that for https first, which is how packages come.
fn proxy(proxies: &Plist) -> Option<String> {
    let on = |key: &str| proxies.get(key).and_then(Plist::number) == Some(1);
    let named = |kind: &str, scheme: &str| {
        if !on(&format!("{kind}Enable")) {
            return None;
        }
        let host = proxies.get(&format!("{kind}Proxy"))?.text().filter(|host| !host.is_empty())?;
        let port = proxies.get(&format!("{kind}Port")).and_then(Plist::number);
        Some(format!("{scheme}://{host}{}", port.map(|port| format!(":{port}")).unwrap_or_default()))
    };
    let by_script = || {
        let address = proxies.get("ProxyAutoConfigURLString").and_then(Plist::text).unwrap_or_default();
        on("ProxyAutoConfigEnable").then(|| format!("by the script {address}").trim_end().to_owned())
    };
    let found_out = || on("ProxyAutoDiscoveryEnable").then(|| "found out by itself".to_owned());
    named("HTTPS", "http")
        .or_else(|| named("HTTP", "http"))
        .or_else(|| named("SOCKS", "socks5"))
        .or_else(by_script)
        .or_else(found_out)
}

/// Counts certificates that an administrator trusts, those left out that are of every Mac.
fn added_authorities(trust: &Plist) -> u64 {
    let of_every_mac = |entry: &Plist| {
        let Some(Plist::Data(issuer)) = entry.get("issuerName") else { return false };
        let issuer = String::from_utf8_lossy(issuer);
        OF_EVERY_MAC.iter().any(|name| issuer.contains(name))
    };
    let list = trust.get("trustList");
    list.map_or(0, |list| list.entries().filter(|(_, entry)| !of_every_mac(entry)).count() as u64)
}

/// Lists the files of certificates that variables and macml's settings name.
fn certificate_files(look: &Look<'_>) -> Vec<Certificates> {
    let named = VARIABLES.iter().filter_map(|name| look.env.get(name)).map(PathBuf::from);
    let folders = look.env.get("SSL_CERT_DIR").into_iter().flat_map(|folders| folders.split(':')).map(PathBuf::from);
    let own = look.config.into_iter().flat_map(|config| config.certificates.iter().cloned());
    let mut files = Vec::new();
    for path in named.chain(folders).chain(own) {
        let there = fs::kind(&look.env.cwd().join(&path)).ok().flatten().is_some();
        let one = Certificates { file: path.display().to_string(), there };
        if !files.contains(&one) {
            files.push(one);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;

    /// The form of <https://github.com/apple-oss-distributions/configd>: a set names services, which lie beside it.
    fn settings(wifi: &str, ethernet: &str) -> String {
        format!(
            "<plist><dict><key>CurrentSet</key><string>/Sets/S1</string>
            <key>NetworkServices</key><dict>
            <key>W</key><dict><key>Proxies</key><dict>{wifi}</dict></dict>
            <key>E</key><dict>{ethernet}</dict></dict>
            <key>Sets</key><dict><key>S1</key><dict><key>Network</key><dict>
            <key>Global</key><dict><key>IPv4</key><dict><key>ServiceOrder</key>
            <array><string>E</string><string>W</string></array></dict></dict>
            <key>Service</key><dict><key>W</key><dict/><key>E</key><dict/></dict>
            </dict></dict></dict></dict></plist>"
        )
    }

    const HTTPS: &str = "<key>HTTPSEnable</key><integer>1</integer><key>HTTPSProxy</key><string>proxy.corp</string>
                         <key>HTTPSPort</key><integer>3128</integer>";

    #[test]
    fn the_proxy_of_a_mac_is_read() {
        let check = |wifi: &str, ethernet: &str, expected: Option<&str>| {
            let laid = Laid::mac(&[(&SETTINGS[1..], &settings(wifi, ethernet))]);
            let facts = laid.look(&[], network);
            assert_eq!(facts.network.system_proxy.as_deref(), expected);
            assert_eq!((facts.network.added_authorities, facts.unseen.len()), (Some(0), 0));
        };
        check(HTTPS, "", Some("http://proxy.corp:3128"));
        check("<key>HTTPSEnable</key><integer>0</integer>", "", None);
        check(&HTTPS.replace("<integer>1<", "<integer>0<"), "", None);
        let socks = "<key>Proxies</key><dict><key>SOCKSEnable</key><integer>1</integer><key>SOCKSProxy</key>
                     <string>127.0.0.1</string><key>SOCKSPort</key><integer>7890</integer></dict>";
        check(HTTPS, socks, Some("socks5://127.0.0.1:7890"));
        check(HTTPS, &format!("<key>__INACTIVE__</key><true/>{socks}"), Some("http://proxy.corp:3128"));
        let script = "<key>ProxyAutoConfigEnable</key><integer>1</integer><key>ProxyAutoConfigURLString</key>
                      <string>http://pac.corp/p.pac</string>";
        check(script, "", Some("by the script http://pac.corp/p.pac"));
        check("<key>ProxyAutoDiscoveryEnable</key><integer>1</integer>", "", Some("found out by itself"));
    }

    #[test]
    fn certificates_of_an_administrator_are_counted() {
        let entry = |name: &str, issuer: &str| {
            format!("<key>{name}</key><dict><key>issuerName</key><data>{issuer}</data></dict>")
        };
        // `com.apple.systemdefault`, and `CN=Corp` as X.509 has it.
        let own = entry("1F95", "MCIxIDAeBgNVBAMMF2NvbS5hcHBsZS5zeXN0ZW1kZWZhdWx0");
        let corp = entry("2A00", "MA8xDTALBgNVBAMMBENvcnA=");
        let trust = format!("<plist><dict><key>trustList</key><dict>{own}{corp}</dict></dict></plist>");
        let facts = Laid::mac(&[(&TRUST[1..], &trust)]).look(&[], network);
        assert_eq!((facts.network.added_authorities, facts.unseen.len()), (Some(1), 0));
        let facts = Laid::mac(&[(&TRUST[1..], "damaged")]).look(&[], network);
        assert_eq!((facts.network.added_authorities, facts.unseen.len()), (None, 1));
        let linux = Laid::new(&[("usr/local/share/ca-certificates/corp.crt", "")]).look(&[], network);
        assert_eq!(linux.network.added_authorities, Some(1));
    }

    #[test]
    fn files_and_settings_of_others() {
        let pip = "[global]\nindex-url = https://me:s3cret@corp.example/simple?token=s3cret\n";
        let laid = Laid::new(&[("home/.config/pip/pip.conf", pip), ("etc/pip.conf", pip), ("ca.pem", "")]);
        let there = laid.root().join("ca.pem").display().to_string();
        let tuna = index::Mirror::parse("tuna").unwrap().url.to_string();
        let vars =
            [("SSL_CERT_FILE", "/none/ca.pem"), ("CURL_CA_BUNDLE", &there), ("PIP_CERT", &there), ("UV_INDEX", &tuna)];
        let facts = laid.look(&vars, network);
        let files: Vec<_> = facts.network.certificate_files.iter().map(|one| (one.file.as_str(), one.there)).collect();
        assert_eq!(files, [("/none/ca.pem", false), (&there, true)]);
        let others = &facts.network.other_settings;
        let told: Vec<_> = others.iter().map(|one| (one.tool.as_str(), one.index.as_str())).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[1..], [("pip", "https://corp.example/simple"); 2]);
        assert_eq!((told[0].0, others[0].place.as_str()), ("uv", "the variable UV_INDEX"));
        assert!(others[1].place.ends_with("/etc/pip.conf"), "{others:?}");
    }
}
