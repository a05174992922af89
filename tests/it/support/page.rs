//! Pages of macml, held to what every reader needs.

use std::collections::BTreeMap;

use html5gum::Token;
use html5gum::Tokenizer;

/// Holds a page to what every reader needs: tags in pairs, ids once, nothing from elsewhere. Returns its text.
pub(crate) fn well_formed(page: &str) -> String {
    let (mut open, mut ids, mut wanted, mut text) = (Vec::<String>::new(), Vec::new(), Vec::new(), String::new());
    for token in Tokenizer::new(page) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                let attributes = tag.attributes.iter();
                let attributes: BTreeMap<String, String> = attributes
                    .map(|(key, value)| (String::from_utf8_lossy(key).into(), String::from_utf8_lossy(value).into()))
                    .collect();
                assert!(!["script", "link", "img", "iframe", "use", "image"].contains(&name.as_str()), "{name}");
                for key in attributes.keys() {
                    assert!(
                        !key.starts_with("on") && !["src", "href", "style"].contains(&key.as_str()),
                        "{name} {key}"
                    );
                }
                assert!(name != "th" || attributes.contains_key("scope"));
                assert!(
                    attributes.get("role").map(String::as_str) != Some("region") || attributes.contains_key("tabindex")
                );
                ids.extend(attributes.get("id").cloned());
                wanted.extend(
                    ["aria-labelledby", "aria-describedby"].iter().filter_map(|key| attributes.get(*key)).cloned(),
                );
                for key in ["d", "cx", "cy", "x", "y"] {
                    let drawn = attributes.get(key).map_or("", String::as_str);
                    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
                }
                if name != "meta" && !tag.self_closing {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop().unwrap().as_bytes(), &**tag.name),
            Token::String(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Token::Error(error) => panic!("{error:?}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!page.contains("http") && !page.contains("url(") && !page.contains("@import"), "nothing is fetched");
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "{ids:?}");
    assert!(wanted.iter().all(|id| ids.contains(id)), "{wanted:?} in {ids:?}");
    text
}
