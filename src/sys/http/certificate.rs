//! The issuer's name of an X.509 certificate, for messages only: nothing is decided by it.

/// Returns the issuer's common name, else its organization; `None` when the bytes do not read as a certificate.
pub(super) fn issuer(der: &[u8]) -> Option<String> {
    let (certificate, _) = element(der, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest, VERSION)?.1;
    }
    let (_serial, rest) = element(rest, INTEGER)?;
    let (_algorithm, rest) = element(rest, SEQUENCE)?;
    let (mut names, _) = element(rest, SEQUENCE)?;
    let mut organization = None;
    while !names.is_empty() {
        let (set, after) = element(names, SET)?;
        names = after;
        let (pair, _) = element(set, SEQUENCE)?;
        let (kind, value) = element(pair, OBJECT_ID)?;
        let (text, _) = element(value, *value.first()?)?;
        let text = || Some(String::from_utf8_lossy(text).chars().filter(|char| !char.is_control()).collect());
        match kind {
            COMMON_NAME => return text(),
            ORGANIZATION => organization = text(),
            _ => {}
        }
    }
    organization
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_ID: u8 = 0x06;
const VERSION: u8 = 0xa0;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];

/// Splits off one DER element with `tag`: its content, and what follows.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&short, mut rest) = rest.split_first()?;
    let mut length = usize::from(short);
    if short & 0x80 != 0 {
        let (digits, after) = rest.split_at_checked(usize::from(short & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        length = digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit));
        rest = after;
    }
    if found != tag {
        return None;
    }
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_has_no_issuer() {
        for bytes in [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x03\x30\x01\xa0", b"hello world"] {
            assert_eq!(issuer(bytes), None);
        }
    }

    #[test]
    fn names_the_issuer() {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "Corp");
        params.distinguished_name.push(rcgen::DnType::CommonName, "Corp Inspection CA");
        let certificate = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        assert_eq!(issuer(certificate.der()).as_deref(), Some("Corp Inspection CA"));
    }
}
