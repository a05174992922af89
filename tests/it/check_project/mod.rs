//! A project's own lock and its environments, as parts of a check: through the library, over what the binary locked and
//! built.

pub(crate) mod environment;
mod locked;

use std::path::Path;

use macml::index::Config;
use macml::index::IndexAddress;
use macml::index::OnlineSource;
use macml::index::source::Source;
use macml::index::source::SourceError;
use macml::manifest::Manifest;
use macml::pipeline;
use macml::pipeline::Reach;
use macml::pipeline::check::Part;
use macml::pipeline::check::locked::Locked;
use macml::pipeline::check::locked::Source as LockSource;
use macml::pipeline::check::locked::read as read_lock;
use macml::progress::Silent;
use macml::sys::Env;

use crate::support::server::FakeIndex;

/// What is said of a part, a line for each finding: code, message.
fn told(part: &Part) -> Vec<String> {
    part.told.iter().map(|one| format!("[{}] {}", one.finding.code, one.finding.message)).collect()
}

/// Which network there is.
enum Net<'a> {
    /// None, and who asks for it fails the test.
    Never,
    /// None.
    Off,
    /// This index alone.
    At(&'a FakeIndex),
}

/// Reads the lock of a project.
fn read(folder: &Path, only: &[&str], net: &Net<'_>) -> Result<Locked, pipeline::Error> {
    let source = LockSource {
        start: folder.to_owned(),
        home: Some(folder.to_owned()),
        version: semver::Version::new(0, 1, 0),
        only: only.iter().map(|name| (*name).to_owned()).collect(),
    };
    let env = Env::from_map([("HOME".to_owned(), folder.display().to_string())].into(), folder.to_owned());
    let mut config = Config::new(env);
    config.offline = !matches!(net, Net::At(_));
    if let Net::At(index) = net {
        config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.url() }];
    }
    let mut connect = |_: &Manifest, reach: Reach| -> Result<Box<dyn Source>, SourceError> {
        assert!(reach == Reach::Cache || !matches!(net, Net::Never), "a network was asked for");
        Ok(Box::new(OnlineSource::new(&config, std::sync::Arc::new(Silent))?))
    };
    read_lock(&source, &mut connect, &Silent)
}
