//! One file, from whoever has it: mirrors in turn, then the index itself, each going on where the one before stopped.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use url::Url;

use super::error::{DownloadError, Fault, Said};
use super::store::Body;
use super::{Place, Wanted};
use crate::index::fault::{IndexError, Via};
use crate::index::fetch::{Got, Network, Transport, refusal};
use crate::index::source::{DIRECT, File, IndexName, Page};
use crate::pep::Sha256;
use crate::sys::fs::{self, FsError};
use crate::sys::http::{self, HttpError, Request, Sink as _};

/// What somebody did: sent the file, or not. An error outside ends everything, since nobody else could do better.
type Sent = Result<Result<(), Fault>, DownloadError>;

/// Fills `body` with the file.
pub(super) async fn carry(network: &Network, wanted: &Wanted, body: &mut Body) -> Result<(), DownloadError> {
    let faults = match &wanted.place {
        Place::Index(index) => from_index(network, index, wanted, body).await?,
        Place::Address(url) => {
            let via = Via { index: DIRECT.to_owned(), mirror: None };
            let offer = Offer { url: public(url.clone()), said: Said::NoPage };
            send(network, &via, &offer, wanted, body).await?.err().into_iter().collect()
        }
        Place::Path(path) => {
            let copied = tokio::task::block_in_place(|| copy(path, wanted, body))?;
            copied.err().into_iter().collect()
        }
    };
    if body.is_whole(wanted) {
        return Ok(());
    }
    Err(DownloadError::Unobtainable {
        file: wanted.wheel.to_string(),
        size: wanted.size,
        sha256: wanted.sha256,
        faults,
    })
}

/// Asks one after the other; returns what was wrong with each.
async fn from_index(
    network: &Network,
    index: &IndexName,
    wanted: &Wanted,
    body: &mut Body,
) -> Result<Vec<Fault>, DownloadError> {
    let mut faults = Vec::new();
    for (at, transport) in network.transports(index)?.iter().enumerate() {
        let fault = match transport.down() {
            Some(error) => Fault::Error(error),
            None => match from_transport(network, index, at, wanted, body).await? {
                Ok(()) => break,
                Err(fault) => fault,
            },
        };
        if transport.via.mirror.is_some() {
            network.fault(&transport.via, &wanted.wheel.to_string(), &fault.to_string());
        }
        faults.push(fault);
    }
    Ok(faults)
}

async fn from_transport(network: &Network, index: &IndexName, at: usize, wanted: &Wanted, body: &mut Body) -> Sent {
    let transport = &network.transports(index)?[at];
    let via = &transport.via;
    let mut before = None;
    if let Some(Listing::This(offer)) = network.kept_page(transport, &wanted.wheel.name).map(|page| find(&page, wanted))
    {
        match offered(network, transport, &offer, wanted, body).await? {
            Ok(()) => return Ok(Ok(())),
            // There is nobody to ask for a newer page either.
            Err(fault) if fault.is_unreachable() => return Ok(Err(fault)),
            Err(fault) => before = Some((offer, fault)),
        }
    }
    let page = match network.page_anew(index, at, &wanted.wheel.name).await {
        Ok(Got::Page(page)) => page,
        Ok(Got::Absent | Got::Offline) => {
            return Ok(Err(Fault::Unknown { via: via.clone(), package: wanted.wheel.name.to_string() }));
        }
        Err(error) => return Ok(Err(before.map_or(Fault::Error(error), |(_, fault)| fault))),
    };
    match (find(&page, wanted), before) {
        (Listing::This(offer), Some((known, fault))) if offer == known => Ok(Err(fault)),
        (Listing::This(offer), _) => offered(network, transport, &offer, wanted, body).await,
        (Listing::Another { address, sha256 }, _) => Ok(Err(Fault::Another { via: via.clone(), address, sha256 })),
        (Listing::Nothing, _) => Ok(Err(Fault::NotListed { via: via.clone() })),
    }
}

/// What a page says of the file.
enum Listing {
    /// It lists the file, or one of its name without a sha256.
    This(Result<Offer, String>),
    /// It lists another one.
    Another {
        address: String,
        sha256: Sha256,
    },
    Nothing,
}

/// An address that should serve the file.
#[derive(Clone, PartialEq, Eq)]
struct Offer {
    url: Url,
    /// What the page that names it says of its sha256.
    said: Said,
}

/// Leaves out a user and password of a page's making.
fn public(mut url: Url) -> Url {
    let _ = (url.set_username(""), url.set_password(None));
    url
}

fn find(page: &Page, wanted: &Wanted) -> Listing {
    let name = wanted.wheel.to_string();
    let release = page.release(&wanted.wheel.version);
    let file = release.and_then(|release| release.wheels.iter().find(|file| *file.filename == *name));
    match file.map(|file| &**file) {
        None => Listing::Nothing,
        Some(File { sha256: Some(sha256), url, .. }) if *sha256 != wanted.sha256 => {
            let address = Url::parse(url).map_or_else(|_| name, |url| http::shown(&url));
            Listing::Another { address, sha256: *sha256 }
        }
        Some(File { sha256, url, .. }) => {
            let said = if sha256.is_some() { Said::Locked } else { Said::Nothing };
            let read = Url::parse(url).map(|url| Offer { url: public(url), said });
            Listing::This(read.map_err(|cause| format!("its page gives no usable address ({cause})")))
        }
    }
}

async fn offered(
    network: &Network,
    transport: &Transport,
    offer: &Result<Offer, String>,
    wanted: &Wanted,
    body: &mut Body,
) -> Sent {
    let via = &transport.via;
    match offer {
        Ok(offer) => {
            let sent = send(network, via, offer, wanted, body).await?;
            if let Err(fault @ Fault::Error(error)) = &sent
                && fault.is_unreachable()
            {
                transport.is_down(error);
            }
            Ok(sent)
        }
        Err(reason) => {
            let (via, filename) = (via.clone(), wanted.wheel.to_string());
            Ok(Err(Fault::Error(Arc::new(IndexError::WrongFile { via, filename, reason: reason.clone() }))))
        }
    }
}

/// Gets what is missing from one address.
async fn send(network: &Network, via: &Via, offer: &Offer, wanted: &Wanted, body: &mut Body) -> Sent {
    let address = http::shown(&offer.url);
    let request = Request { auth: network.auth(&offer.url), ..Request::get(offer.url.clone(), wanted.size) };
    let mut afresh = false;
    loop {
        let head = match network.client().fetch_rest(&request, body.length(), body).await {
            Ok(head) => head,
            Err(HttpError::Keep { cause, .. }) => return Err(body.failed(cause)),
            Err(HttpError::TooLarge { size, .. }) => {
                body.clear()?;
                return Ok(Err(Fault::WrongSize { via: via.clone(), address, got: size }));
            }
            Err(cause) => {
                let error = IndexError::Transport { via: via.clone(), cause: cause.into() };
                return Ok(Err(Fault::Error(Arc::new(error))));
            }
        };
        match head.status {
            status @ (404 | 410) => return Ok(Err(Fault::Gone { via: via.clone(), address, status })),
            status if !head.is_success() => return Ok(Err(Fault::Error(Arc::new(refusal(via, &request, status))))),
            _ if body.is_whole(wanted) => return Ok(Ok(())),
            _ => {}
        }
        let (got, sha256) = (body.length(), body.sha256());
        body.clear()?;
        // Some of it came from elsewhere or from before, and that may be what is wrong.
        if head.status == 206 && !afresh {
            afresh = true;
            continue;
        }
        let via = via.clone();
        return Ok(Err(match got == wanted.size {
            true => Fault::WrongHash { via, address, got: sha256, said: offer.said },
            false => Fault::WrongSize { via, address, got: Some(got) },
        }));
    }
}

/// Copies a wheel on disk, so that it cannot change any more once it is checked.
fn copy(path: &Path, wanted: &Wanted, body: &mut Body) -> Sent {
    let missing = || IndexError::MissingWheel { path: path.to_owned() };
    let got = fs::size(path)?.ok_or_else(missing)?;
    let other = |got, sha256| Ok(Err(Fault::WrongFile { path: path.to_owned(), got, sha256 }));
    if got != wanted.size {
        return other(got, None);
    }
    body.clear()?;
    let file = fs::open(path)?.ok_or_else(missing)?;
    let mut full = None;
    let copied = fs::pieces(&mut file.take(wanted.size), wanted.size, &mut |bytes| {
        body.write(bytes).map_err(|cause| std::io::Error::other(full.insert(body.failed(cause)).to_string()))
    });
    match (full, copied) {
        (Some(error), _) => return Err(error),
        (None, Err(cause)) => return Err(FsError { doing: "read", path: path.to_owned(), cause }.into()),
        (None, Ok(())) if body.is_whole(wanted) => return Ok(Ok(())),
        (None, Ok(())) => {}
    }
    let (got, sha256) = (body.length(), body.sha256());
    body.clear()?;
    other(got, Some(sha256))
}
