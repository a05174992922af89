//! Users and passwords: netrc, `MACML_INDEX_<NAME>_USERNAME` and `…_PASSWORD`, and those inside addresses of indexes.
//!
//! A secret goes to the origin it belongs to and nowhere else, and is never shown.

use std::path::PathBuf;

use url::{Origin, Url};

use crate::sys::Env;
use crate::sys::fs::{self, FsError};
use crate::sys::http::Auth;

/// Every secret of a run.
#[derive(Default)]
pub(super) struct Credentials {
    origins: Vec<(Origin, Auth)>,
    netrc: Vec<Machine>,
}

struct Machine {
    /// Empty for netrc's `default`.
    host: String,
    auth: Auth,
}

impl Credentials {
    /// Reads netrc: the file that `NETRC` names, else `~/.netrc`.
    pub(super) fn new(env: &Env) -> Result<Self, FsError> {
        let text = match (env.get("NETRC"), env.home()) {
            (Some(file), _) => fs::read_text(&PathBuf::from(file))?,
            // Nobody said that it matters: a public index works without it, and a private one will say 401.
            (None, Some(home)) => fs::read_text(&home.join(".netrc")).unwrap_or_default(),
            (None, None) => None,
        };
        Ok(Self { origins: Vec::new(), netrc: text.map(|text| parse(&text)).unwrap_or_default() })
    }

    /// Takes user and password out of an address of `index`, or out of the environment, and returns the address
    /// without them.
    pub(super) fn adopt(&mut self, index: &str, mut url: Url, env: &Env) -> Url {
        let variable = |part: &str| env.get(&format!("MACML_INDEX_{}_{part}", variable_part(index)));
        let written = (!url.username().is_empty() || url.password().is_some())
            .then(|| Auth { username: decoded(url.username()), password: decoded(url.password().unwrap_or_default()) });
        let (username, password) = (variable("USERNAME"), variable("PASSWORD"));
        let given = (username.is_some() || password.is_some()).then(|| Auth {
            username: username.unwrap_or_default().to_owned(),
            password: password.unwrap_or_default().to_owned(),
        });
        let _ = (url.set_username(""), url.set_password(None));
        if let Some(auth) = given.or(written) {
            self.origins.push((url.origin(), auth));
        }
        url
    }

    /// Returns what to send to `url`.
    pub(super) fn of(&self, url: &Url) -> Option<Auth> {
        let origin = url.origin();
        if let Some((_, auth)) = self.origins.iter().find(|(known, _)| *known == origin) {
            return Some(auth.clone());
        }
        let host = url.host_str()?;
        // netrc's `default` is passed over: it would go to every host that some page links to.
        let machine = self.netrc.iter().find(|machine| machine.host == host)?;
        Some(machine.auth.clone())
    }
}

/// Returns an index's name as it stands inside the names of variables.
pub(super) fn variable_part(index: &str) -> String {
    let letter = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    index.chars().map(letter).collect()
}

fn decoded(text: &str) -> String {
    super::simple::percent_decoded(text)
}

/// Reads the tokens of a netrc; macros and what is not understood are passed over.
fn parse(text: &str) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    let mut in_macro = false;
    let mut tokens = Vec::new();
    for line in text.lines() {
        // A macro ends at an empty line.
        if in_macro {
            in_macro = !line.trim().is_empty();
            continue;
        }
        for token in line.split_whitespace() {
            if token.starts_with('#') && tokens.last().is_none_or(|last| !matches!(*last, "password" | "login")) {
                break;
            }
            in_macro |= token == "macdef";
            tokens.push(token);
        }
    }
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let auth = || Auth { username: String::new(), password: String::new() };
        match token {
            "machine" => machines.extend(tokens.next().map(|host| Machine { host: host.to_owned(), auth: auth() })),
            "default" => machines.push(Machine { host: String::new(), auth: auth() }),
            "login" | "password" => {
                let (Some(value), Some(machine)) = (tokens.next(), machines.last_mut()) else { continue };
                let place = if token == "login" { &mut machine.auth.username } else { &mut machine.auth.password };
                value.trim_matches('"').clone_into(place);
            }
            _ => {}
        }
    }
    machines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn check(netrc: &str, url: &str, wanted: Option<(&str, &str)>) {
        let credentials = Credentials { origins: Vec::new(), netrc: parse(netrc) };
        let auth = credentials.of(&url.parse().unwrap());
        assert_eq!(auth.as_ref().map(|auth| (&*auth.username, &*auth.password)), wanted, "{netrc}");
    }

    #[test]
    fn netrc() {
        check("machine a.example login me password p#ss", "https://a.example/x", Some(("me", "p#ss")));
        check("machine a.example\n\tlogin me\n\tpassword \"p\"\n", "https://a.example:8443/", Some(("me", "p")));
        check("machine b.example login x password y", "https://a.example/", None);
        check("default login x password y", "https://a.example/", None);
        check("# machine a.example login x password y", "https://a.example/", None);
        check(
            "macdef init\nmachine a.example login x\n\nmachine a.example login me account z password p",
            "https://a.example/",
            Some(("me", "p")),
        );
        check("machine", "https://a.example/", None);
    }

    #[test]
    fn secrets_of_addresses_and_variables() {
        let vars = BTreeMap::from([("MACML_INDEX_MY_CORP_PASSWORD".to_owned(), "t0ken".to_owned())]);
        let env = Env::from_map(vars, "/".into());
        let mut credentials = Credentials::default();
        let url = credentials.adopt("a", "https://me:p%40ss@a.example/simple/".parse().unwrap(), &env);
        assert_eq!(url.as_str(), "https://a.example/simple/");
        credentials.adopt("my-corp", "https://b.example/".parse().unwrap(), &env);
        let of = |url: &str| {
            credentials.of(&url.parse().unwrap()).map(|auth| format!("{}:{}", auth.username, auth.password))
        };
        assert_eq!(of("https://a.example/files/x.whl").as_deref(), Some("me:p@ss"));
        assert_eq!(of("https://b.example/").as_deref(), Some(":t0ken"));
        for other in ["http://a.example/", "https://a.example:444/", "https://sub.a.example/", "https://c.example/"] {
            assert_eq!(of(other), None);
        }
        assert_eq!(format!("{:?}", credentials.of(&"https://a.example/".parse().unwrap())), "Some(Auth(hidden))");
    }
}
