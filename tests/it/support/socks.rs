//! A SOCKS5 proxy on loopback that leads every name to one server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The proxy; its threads end with their connections.
pub(crate) struct Socks {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Socks {
    /// Leads all connections to `server`.
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let names = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let names = names.clone();
                std::thread::spawn(move || relay(stream, server, &names));
            }
        });
        Self { address, asked }
    }

    /// Returns the names that clients wanted to be led to.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn relay(mut client: TcpStream, server: SocketAddr, names: &Mutex<Vec<String>>) -> Option<()> {
    let mut take = |length: usize| {
        let mut bytes = vec![0; length];
        client.read_exact(&mut bytes).ok()?;
        client.try_clone().ok().map(|stream| (bytes, stream))
    };
    let (greeting, mut answers) = take(2)?;
    take(greeting[1].into())?;
    answers.write_all(&[5, 0]).ok()?;
    let (request, _) = take(4)?;
    let length = match request[3] {
        1 => 4,
        3 => take(1)?.0[0].into(),
        _ => 16,
    };
    let (name, _) = take(length)?;
    take(2)?;
    names.lock().unwrap().push(String::from_utf8_lossy(&name).into_owned());
    let server = TcpStream::connect(server).ok()?;
    answers.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0]).ok()?;
    let (mut up, mut down) = (server.try_clone().ok()?, server);
    let mut back = answers;
    std::thread::spawn(move || std::io::copy(&mut down, &mut back));
    std::io::copy(&mut client, &mut up).ok()?;
    let _ = up.shutdown(std::net::Shutdown::Write);
    Some(())
}
