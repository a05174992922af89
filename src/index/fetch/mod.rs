//! Which address serves a page or a file now: mirrors in turn, then the index itself, falling back as the design says.
//!
//! The answers do not depend on who served them: what a mirror leaves out (sizes, hashes, times) is filled in.

mod member;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{OnceCell, Semaphore};
use url::Url;

use super::cache::{Cache, Digest, Kept, Said, Teller};
use super::config::Config;
use super::credentials::Credentials;
use super::direct;
use super::fault::{IndexError, Via};
use super::remote_zip::{self, Found, Member, ZipFault};
use super::simple;
use super::source::{DIRECT, File, IndexName, MetadataAnswer, Page, PageAnswer, Release};
use super::stored;
use crate::diag::{Code, Finding};
use crate::pep::{Metadata, PackageName, Sha256, WheelName};
use crate::progress::Progress;
use crate::sys::http::{
    Auth, ByteRange, Client, Encoding, Head, HttpError, Request, Response, Settings, Sink, Validators, shown,
};

/// The largest page taken.
const PAGE_LIMIT: u64 = 64 << 20;

/// The largest PEP 658 file taken.
const METADATA_LIMIT: u64 = 16 << 20;

/// Seconds that a page counts as fresh when the index does not say.
const FRESH: u64 = 600;

/// Requests under way at once.
const IN_FLIGHT: usize = 50;

/// Bodies above this size are parsed where they hold nobody up.
const INLINE: usize = 256 << 10;

/// One way to an index: itself, or a mirror.
pub(super) struct Transport {
    pub(super) via: Via,
    base: Url,
    /// It announced PEP 658 files and did not have one.
    no_metadata_files: AtomicBool,
    /// Why it could not be reached: a stand-in is not waited for twice.
    down: OnceLock<Arc<IndexError>>,
}

type Memo = HashMap<(IndexName, usize, PackageName), Arc<OnceCell<Result<Got, Arc<IndexError>>>>>;

/// Sizes and hashes by address.
type Learned = HashMap<Arc<str>, (u64, Option<Sha256>)>;

/// What one transport has of a package.
#[derive(Clone)]
pub(super) enum Got {
    Page(Arc<Page>),
    Absent,
    Offline,
}

/// Which pages of the cache will do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    /// Those that their index called fresh for so long.
    Fresh,
    /// Those that the index calls so now.
    Asked,
}

/// Makes threads for requests: as many as there are cores, two at least and `most` at most.
pub(super) fn runtime(name: &str, most: usize) -> std::io::Result<tokio::runtime::Runtime> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, most);
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).thread_name(name).enable_all().build()
}

/// Asks indexes for pages and files.
pub(super) struct Network {
    /// Absent when offline.
    client: Option<Client>,
    cache: Cache,
    credentials: Credentials,
    transports: HashMap<IndexName, Vec<Transport>>,
    mirror_only: bool,
    offline: bool,
    need_upload_times: bool,
    progress: Arc<dyn Progress>,
    in_flight: Semaphore,
    pages: Mutex<Memo>,
    /// Those that were asked for whatever the cache has.
    pages_anew: Mutex<Memo>,
    /// Which transport's page counts.
    origins: Mutex<HashMap<(IndexName, PackageName), usize>>,
    /// Sizes and hashes learned from the files themselves, by address.
    learned: Mutex<Learned>,
    faults: Mutex<Vec<String>>,
    noted: Mutex<HashSet<String>>,
}

/// Why a file cannot be had from one transport.
enum FileFault {
    /// It is not there, or not usable.
    Unusable(String),
    /// It is there, without what was looked for in it.
    Missing,
    /// Nobody can tell.
    Error(Arc<IndexError>),
}

/// What went wrong with a file, transport by transport.
#[derive(Default)]
struct Faults(Vec<FileFault>);

impl Faults {
    /// The last one asked decides: before it were stand-ins.
    fn verdict(mut self) -> FileFault {
        match self.0.pop() {
            Some(FileFault::Unusable(reason)) => FileFault::Unusable(reason),
            Some(FileFault::Missing) => FileFault::Missing,
            last => {
                let errors = self.0.into_iter().chain(last).filter_map(|fault| match fault {
                    FileFault::Error(error) => Some(error),
                    FileFault::Unusable(_) | FileFault::Missing => None,
                });
                FileFault::error(IndexError::All(errors.collect()))
            }
        }
    }
}

impl Network {
    pub(super) fn new(config: &Config, progress: Arc<dyn Progress>) -> Result<Self, IndexError> {
        let mut credentials = Credentials::new(&config.env)?;
        let mut transports = HashMap::new();
        for (name, address) in config.canonical() {
            let mut ways = Vec::new();
            for mirror in config.mirrors.iter().filter(|mirror| mirror.index == name) {
                let base = credentials.adopt(&mirror.label, mirror.url.clone(), &config.env);
                ways.push(Transport::new(Via { index: name.clone(), mirror: Some(mirror.label.clone()) }, base)?);
            }
            if ways.is_empty() || !config.mirror_only {
                let base = credentials.adopt(&name, address, &config.env);
                ways.push(Transport::new(Via { index: name.clone(), mirror: None }, base)?);
            }
            transports.insert(IndexName::from(name), ways);
        }
        transports.insert(DIRECT.into(), vec![Transport::direct()]);
        let mut settings = Settings::new(config.env.clone());
        settings.certificates.clone_from(&config.certificates);
        if let Some(stall) = config.stall {
            settings.stall = stall;
        }
        // Reading the certificates takes longer than all else that a run without network does.
        let client = (!config.offline).then(|| Client::new(settings)).transpose();
        let client = client.map_err(|cause| IndexError::Client { cause: cause.into() })?;
        Ok(Self {
            client,
            cache: Cache::new(config.cache_dir.clone(), progress.clone()),
            credentials,
            transports,
            mirror_only: config.mirror_only,
            offline: config.offline,
            need_upload_times: config.need_upload_times,
            progress,
            in_flight: Semaphore::new(IN_FLIGHT),
            pages: Mutex::default(),
            pages_anew: Mutex::default(),
            origins: Mutex::default(),
            learned: Mutex::default(),
            faults: Mutex::default(),
            noted: Mutex::default(),
        })
    }

    /// Returns what mirrors lacked or falsified so far.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut faults = held(&self.faults).clone();
        faults.sort();
        faults.into_iter().map(|fault| Finding::warning(Code::MirrorFault, fault)).collect()
    }

    /// Answers which files the index has.
    pub(super) async fn page(&self, index: &IndexName, name: &PackageName) -> Result<PageAnswer, IndexError> {
        let transports = self.transports(index)?;
        let mut errors = Vec::new();
        let mut last = Err(());
        for (at, transport) in transports.iter().enumerate() {
            last = match self.page_via(index, at, name).await {
                Ok(Got::Page(page)) => {
                    held(&self.origins).insert((index.clone(), name.clone()), at);
                    return self.with_times(index, at, name, page).await;
                }
                Ok(got) => Ok(got),
                Err(error) => {
                    if transport.via.mirror.is_some() {
                        self.fault(&transport.via, "page", &error.to_string());
                    }
                    errors.push(error);
                    Err(())
                }
            };
        }
        // The index itself was asked last and decides. Among mirrors alone, one that failed may be the one that knows.
        match last {
            Ok(Got::Offline) => Ok(PageAnswer::Offline),
            Ok(_) if errors.is_empty() || !self.mirror_only => Ok(PageAnswer::Absent),
            _ => Err(IndexError::All(errors)),
        }
    }

    /// Fills in upload times from the index itself when they are needed and a mirror left them out.
    async fn with_times(
        &self,
        index: &IndexName,
        at: usize,
        name: &PackageName,
        page: Arc<Page>,
    ) -> Result<PageAnswer, IndexError> {
        if !self.need_upload_times || page.all_dated() {
            return Ok(PageAnswer::Found(page));
        }
        let transports = self.transports(index)?;
        let last = transports.len() - 1;
        let missing =
            |reason| IndexError::NoUploadTimes { via: transports[last].via.clone(), package: name.to_string(), reason };
        let canonical = match self.page_via(index, last, name).await {
            Ok(Got::Page(canonical)) => canonical,
            Ok(Got::Offline) => return Ok(PageAnswer::Offline),
            Ok(Got::Absent) => return Err(missing(Some("it does not know the package".to_owned()))),
            Err(error) => return Err(missing(Some(error.to_string()))),
        };
        let days: HashMap<Arc<str>, Arc<str>> =
            wheels(&canonical).filter_map(|file| Some((file.filename.clone(), file.upload_day.clone()?))).collect();
        if days.is_empty() {
            return Err(missing(None));
        }
        if at == last {
            return Ok(PageAnswer::Found(page));
        }
        let releases = page.versions().map(|version| {
            let release = page.release(version).expect("a page has the versions it lists");
            let wheels = release.wheels.iter().map(|file| {
                let mut file = File::clone(file);
                file.upload_day = file.upload_day.or_else(|| days.get(&file.filename).cloned());
                Arc::new(file)
            });
            let wheels = wheels.collect();
            (version.clone(), Release { wheels, source_archive: release.source_archive })
        });
        Ok(PageAnswer::Found(Arc::new(Page::new(releases.collect()))))
    }

    /// Returns what one transport has of a package; asked once per run.
    pub(super) async fn page_via(
        &self,
        index: &IndexName,
        at: usize,
        name: &PackageName,
    ) -> Result<Got, Arc<IndexError>> {
        self.page_once(&self.pages, index, at, name, Age::Fresh).await
    }

    /// Returns what one transport has of a package now, though the page that the cache has may be young: that one does
    /// not list what the lock of somebody else already names.
    pub(super) async fn page_anew(
        &self,
        index: &IndexName,
        at: usize,
        name: &PackageName,
    ) -> Result<Got, Arc<IndexError>> {
        self.page_once(&self.pages_anew, index, at, name, Age::Asked).await
    }

    async fn page_once(
        &self,
        memo: &Mutex<Memo>,
        index: &IndexName,
        at: usize,
        name: &PackageName,
        age: Age,
    ) -> Result<Got, Arc<IndexError>> {
        let cell = held(memo).entry((index.clone(), at, name.clone())).or_default().clone();
        cell.get_or_init(|| self.load_page(&self.transports[index][at], name, age)).await.clone()
    }

    /// Returns the page that the cache has of a package, however old.
    pub(super) fn kept_page(&self, transport: &Transport, name: &PackageName) -> Option<Arc<Page>> {
        Some(self.cache.page(transport.base.as_str(), name)?.page)
    }

    /// Returns what to send to `url`.
    pub(super) fn auth(&self, url: &Url) -> Option<Auth> {
        self.credentials.of(url)
    }

    async fn load_page(&self, transport: &Transport, name: &PackageName, age: Age) -> Result<Got, Arc<IndexError>> {
        let kept = self.cache.page(transport.base.as_str(), name);
        let will_do = |kept: &&Kept| self.offline || age == Age::Fresh && kept.said.is_fresh(now());
        if let Some(kept) = kept.as_ref().filter(will_do) {
            return Ok(got(kept));
        }
        if self.offline {
            return Ok(Got::Offline);
        }
        let url = transport.base.join(&format!("{name}/")).expect("a package name is a path");
        let mut request = Request::get(url.clone(), PAGE_LIMIT);
        request.accept = Some(simple::ACCEPT);
        request.encoding = Encoding::Gzip;
        request.auth = self.credentials.of(&url);
        request.validators = kept.as_ref().map(|kept| kept.said.validators()).unwrap_or_default();
        let response = self.get(transport, &request).await?;
        let said = said(&response);
        match (response.head.status, kept) {
            (304, Some(kept)) => {
                let said = Said {
                    etag: kept.said.etag.clone(),
                    last_modified: kept.said.last_modified.clone(),
                    absent: kept.said.absent,
                    ..said
                };
                self.cache.keep_page(transport.base.as_str(), name, &said, kept.stored());
                Ok(got(&kept))
            }
            (200 | 203, _) => {
                let stored = self.parse(transport, &response, name)?;
                self.cache.keep_page(transport.base.as_str(), name, &said, &stored);
                let page = stored::open(stored, 0).expect("what was just encoded is whole");
                Ok(Got::Page(Arc::new(page)))
            }
            (404 | 410, _) => {
                let said = Said { absent: true, ..said };
                self.cache.keep_page(transport.base.as_str(), name, &said, &[]);
                Ok(Got::Absent)
            }
            (status, _) => Err(refusal(&transport.via, &request, status).into()),
        }
    }

    fn parse(&self, transport: &Transport, response: &Response, name: &PackageName) -> Result<Arc<[u8]>, IndexError> {
        let head = &response.head;
        let parse = || {
            let files = simple::parse(&response.body, head.header("content-type"), &head.url)?;
            Ok::<_, simple::NotAPage>(stored::encode(&files, name).into())
        };
        let parsed = if response.body.len() > INLINE { tokio::task::block_in_place(parse) } else { parse() };
        parsed.map_err(|reason| IndexError::NotAPage {
            via: transport.via.clone(),
            address: shown(&head.url),
            reason: reason.to_string(),
        })
    }

    /// Answers what the wheel's METADATA says.
    pub(super) async fn metadata(&self, index: &IndexName, file: &Arc<File>) -> Result<MetadataAnswer, IndexError> {
        if let Some(path) = direct::path(file).filter(|_| **index == *DIRECT) {
            let wheel = tokio::task::block_in_place(|| direct::read(&path, file))?;
            held(&self.learned).insert(file.url.clone(), (wheel.size, Some(wheel.sha256)));
            let metadata = wheel.metadata.and_then(|metadata| check(&metadata, &file.wheel));
            return Ok(match metadata {
                Ok(metadata) => MetadataAnswer::Found(metadata),
                Err(reason) => MetadataAnswer::Unusable(reason.into()),
            });
        }
        if let Some(metadata) = self.kept_metadata(index, file)? {
            return Ok(MetadataAnswer::Found(metadata));
        }
        if self.offline {
            return Ok(MetadataAnswer::Offline);
        }
        let mut faults = Faults::default();
        for at in self.ways(index, file)? {
            let Some((transport, listed)) = self.listed(index, at, file).await else { continue };
            match self.metadata_via(transport, &listed).await {
                Ok(metadata) => return Ok(MetadataAnswer::Found(metadata)),
                Err(fault) => faults.0.push(self.seen(transport, file, fault)),
            }
        }
        match faults.verdict() {
            FileFault::Unusable(reason) => Ok(MetadataAnswer::Unusable(reason.into())),
            FileFault::Missing => unreachable!("a wheel without METADATA is broken"),
            FileFault::Error(error) => Err(IndexError::All(vec![error])),
        }
    }

    /// Lists whose word on a wheel counts: the index itself, its mirrors, and whoever sent the whole wheel.
    fn tellers(&self, index: &IndexName) -> Result<impl Iterator<Item = Teller<'_>>, IndexError> {
        let transports = self.transports(index)?.iter().rev();
        Ok(transports.map(|transport| Teller::Index(transport.base.as_str())).chain([Teller::Wheel]))
    }

    /// Returns METADATA that an earlier run kept: told by one that this run would ask as well, the index itself first,
    /// or read out of the wheel.
    fn kept_metadata(&self, index: &IndexName, file: &File) -> Result<Option<Arc<Metadata>>, IndexError> {
        let Some(sha256) = file.sha256 else { return Ok(None) };
        let mut kept = self.tellers(index)?.filter_map(|teller| self.cache.metadata(teller, sha256));
        Ok(kept.find_map(|kept| check(&kept, &file.wheel).ok()))
    }

    /// Answers with the file's size and sha256 present.
    pub(super) async fn complete(&self, index: &IndexName, file: &Arc<File>) -> Result<Arc<File>, IndexError> {
        if file.size.is_some() && file.sha256.is_some() {
            return Ok(file.clone());
        }
        if let Some(path) = direct::path(file).filter(|_| **index == *DIRECT) {
            let known = held(&self.learned).get(&file.url).copied();
            let (size, sha256) = match known {
                Some((size, Some(sha256))) => (size, sha256),
                _ => {
                    let wheel = tokio::task::block_in_place(|| direct::read(&path, file))?;
                    (wheel.size, wheel.sha256)
                }
            };
            return Ok(Arc::new(File { size: Some(size), sha256: Some(sha256), ..File::clone(file) }));
        }
        if self.offline {
            let known =
                self.cache.digest(&file.url).filter(|known| file.sha256.is_none_or(|sha256| sha256 == known.sha256));
            let known = known.ok_or_else(|| IndexError::Offline { filename: file.filename.to_string() })?;
            return Ok(Arc::new(File { size: Some(known.size), sha256: Some(known.sha256), ..File::clone(file) }));
        }
        let mut faults = Faults::default();
        for at in self.ways(index, file)? {
            let Some((transport, listed)) = self.listed(index, at, file).await else { continue };
            match self.complete_via(transport, file, &listed).await {
                Ok(file) => {
                    // No page will say it again, and `--offline` needs it.
                    if let (true, Some(size), Some(sha256)) = (**index == *DIRECT, file.size, file.sha256) {
                        let digest = Digest { size, sha256, etag: None, last_modified: None };
                        self.cache.keep_digest(&file.url, &digest);
                    }
                    return Ok(file);
                }
                Err(fault) => faults.0.push(self.seen(transport, file, fault)),
            }
        }
        match faults.verdict() {
            FileFault::Unusable(reason) => {
                let via = Via { index: index.to_string(), mirror: None };
                Err(IndexError::WrongFile { via, filename: file.filename.to_string(), reason })
            }
            FileFault::Missing => unreachable!("nothing is looked for inside"),
            FileFault::Error(error) => Err(IndexError::All(vec![error])),
        }
    }

    /// Returns the transports in the order in which a file is asked for: first the one whose page named it.
    fn ways(&self, index: &IndexName, file: &File) -> Result<Vec<usize>, IndexError> {
        let count = self.transports(index)?.len();
        let origin = self.origin(index, file);
        Ok(std::iter::once(origin).chain((0..count).filter(|at| *at != origin)).collect())
    }

    fn origin(&self, index: &IndexName, file: &File) -> usize {
        held(&self.origins).get(&(index.clone(), file.wheel.name.clone())).copied().unwrap_or(0)
    }

    /// Returns the file as the page of one transport lists it.
    async fn listed(&self, index: &IndexName, at: usize, file: &Arc<File>) -> Option<(&Transport, Arc<File>)> {
        let listed =
            if at == self.origin(index, file) { file.clone() } else { self.same_file(index, at, file).await? };
        Some((&self.transports[index][at], listed))
    }

    /// Tells of a mirror's fault and hands it on.
    fn seen(&self, transport: &Transport, file: &File, fault: FileFault) -> FileFault {
        if transport.via.mirror.is_some() {
            let reason = match &fault {
                FileFault::Unusable(reason) => reason.clone(),
                // The same wheel lacks it everywhere.
                FileFault::Missing => return fault,
                FileFault::Error(error) => error.to_string(),
            };
            self.fault(&transport.via, &file.filename, &reason);
        }
        fault
    }

    /// Finds the file on the page of another transport; not when it is known to be another one of the same name.
    async fn same_file(&self, index: &IndexName, at: usize, file: &File) -> Option<Arc<File>> {
        let Ok(Got::Page(page)) = self.page_via(index, at, &file.wheel.name).await else { return None };
        let release = page.release(&file.wheel.version)?;
        let same = |one: &&Arc<File>| {
            let differs =
                |left: Option<Sha256>, right: Option<Sha256>| left.is_some() && right.is_some() && left != right;
            one.filename == file.filename && !differs(one.sha256, file.sha256)
        };
        release.wheels.iter().find(same).cloned()
    }

    async fn metadata_via(&self, transport: &Transport, file: &File) -> Result<Arc<Metadata>, FileFault> {
        let url = address(transport, file)?;
        let told = Teller::Index(transport.base.as_str());
        let mut found = None;
        if let Some(sha256) = file.metadata_file.filter(|_| !transport.no_metadata_files.load(Ordering::Relaxed)) {
            found = self.metadata_file(transport, file, &url, sha256).await?.map(|bytes| (bytes, told));
        }
        let (bytes, teller) = match found {
            Some(found) => found,
            None => {
                let found = self.in_wheel(transport, file, url, Member::Metadata).await?;
                let teller = found.teller(transport);
                (found.bytes, teller)
            }
        };
        let metadata = check(&bytes, &file.wheel).map_err(FileFault::Unusable)?;
        if let Some(sha256) = file.sha256 {
            self.cache.keep_metadata(teller, sha256, essential(&bytes));
        }
        Ok(metadata)
    }

    /// Reads the PEP 658 file; `None` when it is announced but missing.
    async fn metadata_file(
        &self,
        transport: &Transport,
        file: &File,
        wheel: &Url,
        sha256: Option<Sha256>,
    ) -> Result<Option<Vec<u8>>, FileFault> {
        let mut url = wheel.clone();
        url.set_path(&format!("{}.metadata", url.path()));
        let mut request = Request::get(url.clone(), METADATA_LIMIT);
        request.encoding = Encoding::Gzip;
        request.auth = self.credentials.of(&url);
        let response = self.get(transport, &request).await.map_err(FileFault::Error)?;
        match response.head.status {
            200 | 203 => {}
            404 | 410 => {
                transport.no_metadata_files.store(true, Ordering::Relaxed);
                self.note(format!("{} announces metadata files and lacks them; reading wheels instead", transport.via));
                return Ok(None);
            }
            status => return Err(FileFault::error(refusal(&transport.via, &request, status))),
        }
        if sha256.is_some_and(|sha256| sha256 != Sha256::of(&response.body)) {
            let reason = "its metadata file has another sha256 than the page says".to_owned();
            return Err(FileFault::error(wrong(transport, file, reason)));
        }
        Ok(Some(response.body))
    }

    async fn in_wheel(
        &self,
        transport: &Transport,
        file: &File,
        url: Url,
        member: Member<'_>,
    ) -> Result<Found, FileFault> {
        let place = remote_zip::Place { auth: self.credentials.of(&url), url, size: file.size };
        let permit = self.permit().await;
        let found = remote_zip::read(self.client(), &place, &file.wheel, member).await;
        drop(permit);
        let found = found.map_err(|fault| match fault {
            ZipFault::Http(cause) => {
                FileFault::error(IndexError::Transport { via: transport.via.clone(), cause: cause.into() })
            }
            ZipFault::Status(status @ (404 | 410)) => gone(transport, &place.url, status),
            ZipFault::Status(status) => {
                FileFault::error(refusal(&transport.via, &Request::get(place.url.clone(), 0), status))
            }
            ZipFault::Lie { .. } => FileFault::error(wrong(transport, file, fault.to_string())),
            ZipFault::Broken(reason) => FileFault::Unusable(reason),
            ZipFault::Missing(_) => FileFault::Missing,
        })?;
        if let (Some(said), Some(is)) = (file.sha256, found.sha256)
            && said != is
        {
            let reason = format!("its sha256 is {is}, the page says {said}");
            return Err(FileFault::error(wrong(transport, file, reason)));
        }
        held(&self.learned).insert(file.url.clone(), (found.size, found.sha256));
        Ok(found)
    }

    /// Learns size and hash of `listed`, and checks them against what is known of `file`.
    async fn complete_via(&self, transport: &Transport, file: &File, listed: &File) -> Result<Arc<File>, FileFault> {
        let known = held(&self.learned).get(&listed.url).copied();
        let mut size = listed.size.or(known.map(|(size, _)| size));
        let mut sha256 = file.sha256.or(listed.sha256).or(known.and_then(|(_, sha256)| sha256));
        if sha256.is_none() {
            let digest = self.digest(transport, listed).await?;
            if size.is_some_and(|size| size != digest.size) {
                let reason = format!("it has {} bytes, and its page says another size", digest.size);
                return Err(FileFault::error(wrong(transport, file, reason)));
            }
            (size, sha256) = (Some(digest.size), Some(digest.sha256));
        } else if size.is_none() {
            let (_, total) = self.first_byte(transport, listed).await?;
            let unsaid = || FileFault::error(wrong(transport, file, "no header says its size".to_owned()));
            size = Some(total.ok_or_else(unsaid)?);
        }
        if file.size.is_some() && file.size != size {
            let reason = "it has another size than the page says".to_owned();
            return Err(FileFault::error(wrong(transport, file, reason)));
        }
        Ok(Arc::new(File { size, sha256, ..file.clone() }))
    }

    /// Reads a file whole, unless an earlier run did and the server's headers are still those.
    async fn digest(&self, transport: &Transport, file: &File) -> Result<Digest, FileFault> {
        if let Some(digest) = self.cache.digest(&file.url) {
            let (head, total) = self.first_byte(transport, file).await?;
            if total.is_some_and(|total| digest.is_still(total, &head.validators())) {
                return Ok(digest);
            }
        }
        let request = self.file_request(transport, file)?;
        let mut body = Digesting { hasher: sha2::Digest::new(), size: 0, progress: self.progress.clone() };
        let permit = self.permit().await;
        let head = self.client().fetch(&request, &mut body).await;
        drop(permit);
        let Validators { etag, last_modified } = judge(transport, &request, head)?.validators();
        let sha256 = Sha256::from_bytes(sha2::Digest::finalize(body.hasher).into());
        let digest = Digest { size: body.size, sha256, etag, last_modified };
        self.cache.keep_digest(&file.url, &digest);
        Ok(digest)
    }

    /// Asks for one byte, whose headers tell the size of the whole.
    async fn first_byte(&self, transport: &Transport, file: &File) -> Result<(Head, Option<u64>), FileFault> {
        let mut request = self.file_request(transport, file)?;
        request.range = Some(ByteRange::Span(0, 0));
        let permit = self.permit().await;
        let head = self.client().probe(&request).await;
        drop(permit);
        let head = judge(transport, &request, head)?;
        let total = match head.status {
            206 => head.content_range().map(|(.., total)| total),
            _ => head.content_length(),
        };
        Ok((head, total))
    }

    fn file_request(&self, transport: &Transport, file: &File) -> Result<Request, FileFault> {
        let url = address(transport, file)?;
        let auth = self.credentials.of(&url);
        Ok(Request { auth, ..Request::get(url, u64::MAX) })
    }

    /// Gets a body into memory; not from a stand-in that could not be reached before.
    async fn get(&self, transport: &Transport, request: &Request) -> Result<Response, Arc<IndexError>> {
        let _permit = self.permit().await;
        if let Some(error) = transport.down() {
            return Err(error);
        }
        self.client().get(request).await.map_err(|cause| {
            let unreachable = cause.is_unreachable();
            let error = Arc::new(IndexError::Transport { via: transport.via.clone(), cause: cause.into() });
            if unreachable {
                transport.is_down(&error);
            }
            error
        })
    }

    pub(super) fn client(&self) -> &Client {
        self.client.as_ref().expect("offline, nothing is asked")
    }

    async fn permit(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.in_flight.acquire().await.expect("the semaphore is never closed")
    }

    pub(super) fn transports(&self, index: &IndexName) -> Result<&[Transport], IndexError> {
        self.transports.get(index).map(Vec::as_slice).ok_or_else(|| IndexError::UnknownIndex(index.to_string()))
    }

    /// Remembers the first fault of each kind for the end, and says so at once.
    pub(super) fn fault(&self, via: &Via, what: &str, reason: &str) {
        let kind = if what == "page" { "page" } else { "file" };
        if held(&self.noted).insert(format!("{via} {kind}")) {
            let text = match what {
                "page" => reason.to_owned(),
                file => format!("{via} passed over for `{file}`: {reason}"),
            };
            self.progress.note(&text);
            held(&self.faults).push(text);
        }
    }

    fn note(&self, text: String) {
        if held(&self.noted).insert(text.clone()) {
            self.progress.note(&text);
        }
    }
}

impl Transport {
    fn new(via: Via, mut base: Url) -> Result<Self, IndexError> {
        if !matches!(base.scheme(), "http" | "https") {
            return Err(IndexError::Address {
                address: shown(&base),
                reason: format!("it begins with `{}:`, not `https:`", base.scheme()),
            });
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { via, base, no_metadata_files: AtomicBool::new(false), down: OnceLock::new() })
    }

    /// Returns why it is not asked again.
    pub(super) fn down(&self) -> Option<Arc<IndexError>> {
        self.down.get().cloned()
    }

    /// Remembers that it could not be reached, if it is a stand-in.
    pub(super) fn is_down(&self, error: &Arc<IndexError>) {
        if self.via.mirror.is_some() {
            let _ = self.down.set(error.clone());
        }
    }

    /// Makes the one for wheels by address; it has no pages.
    fn direct() -> Self {
        let via = Via { index: DIRECT.to_owned(), mirror: None };
        let base = Url::parse("file:///").expect("a constant");
        Self { via, base, no_metadata_files: AtomicBool::new(false), down: OnceLock::new() }
    }
}

impl Found {
    /// Returns who told it. A sha256 is that of the page, or the wheel was refused.
    fn teller<'a>(&self, transport: &'a Transport) -> Teller<'a> {
        if self.sha256.is_some() { Teller::Wheel } else { Teller::Index(transport.base.as_str()) }
    }
}

impl FileFault {
    fn error(error: IndexError) -> Self {
        Self::Error(Arc::new(error))
    }
}

/// Digests a body as it comes.
struct Digesting {
    hasher: sha2::Sha256,
    size: u64,
    progress: Arc<dyn Progress>,
}

impl Sink for Digesting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        sha2::Digest::update(&mut self.hasher, bytes);
        self.size += bytes.len() as u64;
        self.progress.received(bytes.len() as u64);
        Ok(())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.hasher = sha2::Digest::new();
        self.size = 0;
        Ok(())
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wheels(page: &Page) -> impl Iterator<Item = &Arc<File>> {
    page.versions().filter_map(|version| page.release(version)).flat_map(|release| &release.wheels)
}

fn got(kept: &Kept) -> Got {
    if kept.said.absent { Got::Absent } else { Got::Page(kept.page.clone()) }
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Reads how long an answer is fresh.
fn said(response: &Response) -> Said {
    let head = &response.head;
    let control = head.header("cache-control").unwrap_or_default().to_ascii_lowercase();
    let directives = || control.split(',').map(str::trim);
    let age = head.header("age").and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    let max_age = directives().find_map(|one| one.strip_prefix("max-age=")?.trim_matches('"').parse::<u64>().ok());
    let never = directives().any(|one| matches!(one, "no-cache" | "no-store"));
    let fresh = if never { 0 } else { max_age.map_or(FRESH, |max_age| max_age.saturating_sub(age)) };
    let validators = head.validators();
    Said {
        fetched: now(),
        fresh_until: now().saturating_add(fresh),
        etag: validators.etag,
        last_modified: validators.last_modified,
        absent: false,
    }
}

pub(super) fn refusal(via: &Via, request: &Request, status: u16) -> IndexError {
    let (via, address) = (via.clone(), shown(&request.url));
    match status {
        401 | 407 => IndexError::Unauthorized { via, address, sent: request.auth.is_some() },
        403 => IndexError::Refused { via, address },
        _ => IndexError::Status { via, address, status },
    }
}

fn judge(transport: &Transport, request: &Request, head: Result<Head, HttpError>) -> Result<Head, FileFault> {
    match head {
        Err(cause) => Err(FileFault::error(IndexError::Transport { via: transport.via.clone(), cause: cause.into() })),
        Ok(head) if head.is_success() => Ok(head),
        Ok(head) if matches!(head.status, 404 | 410) => Err(gone(transport, &request.url, head.status)),
        Ok(head) => Err(FileFault::error(refusal(&transport.via, request, head.status))),
    }
}

fn gone(transport: &Transport, url: &Url, status: u16) -> FileFault {
    if transport.via.index == DIRECT {
        let (via, address) = (transport.via.clone(), shown(url));
        return FileFault::error(IndexError::Status { via, address, status });
    }
    FileFault::Unusable(format!("{} lists it and answers 404 for it", transport.via))
}

fn wrong(transport: &Transport, file: &File, reason: String) -> IndexError {
    IndexError::WrongFile { via: transport.via.clone(), filename: file.filename.to_string(), reason }
}

fn address(transport: &Transport, file: &File) -> Result<Url, FileFault> {
    let mut url = Url::parse(&file.url).map_err(|cause| {
        FileFault::error(wrong(transport, file, format!("its page gives no usable address ({cause})")))
    })?;
    let _ = (url.set_username(""), url.set_password(None));
    Ok(url)
}

/// Parses METADATA and checks that it is the wheel's.
fn check(bytes: &[u8], wheel: &WheelName) -> Result<Arc<Metadata>, String> {
    let metadata = Metadata::parse(bytes).map_err(|cause| format!("its METADATA cannot be used: {cause}"))?;
    if metadata.name != wheel.name || metadata.version != wheel.version {
        return Err(format!("its METADATA is of `{} {}`", metadata.name, metadata.version));
    }
    Ok(Arc::new(metadata))
}

/// Cuts the description off, which is most of METADATA.
fn essential(bytes: &[u8]) -> &[u8] {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"];
    let end =
        ends.iter().filter_map(|end| bytes.windows(end.len()).position(|at| at == *end).map(|at| at + end.len())).min();
    &bytes[..end.unwrap_or(bytes.len())]
}
