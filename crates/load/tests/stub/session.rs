//! One connection of the stub.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;

use super::{replies, scram, Act, Login, Shared, Statement};

const CANCEL: u32 = 80_877_102;

struct Session<'a> {
    stream: UnixStream,
    shared: &'a Shared,
    connection: usize,
    /// Requests to cancel this session so far.
    cancels: Arc<AtomicUsize>,
    out: Vec<u8>,
    statements: usize,
    status: u8,
    prepared: HashMap<String, String>,
    bound: (String, Vec<Option<String>>),
    /// After an error of the extended protocol everything up to Sync is skipped.
    skipping: bool,
    copying: bool,
    /// The latest request was one of the extended protocol.
    is_extended: bool,
}

struct Closed;

pub fn serve(mut stream: UnixStream, shared: &Shared) {
    let mut length = [0; 4];
    if stream.read_exact(&mut length).is_err() {
        return;
    }
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    if stream.read_exact(&mut body).is_err() {
        return;
    }
    let code = number(&body[..4]);
    if code == CANCEL {
        shared.cancels.fetch_add(1, Ordering::SeqCst);
        let process = number(&body[4..8]) as usize;
        assert_eq!(number(&body[8..12]), 99, "the secret of the session");
        shared.cancelled.lock().unwrap()[process].fetch_add(1, Ordering::SeqCst);
        return;
    }
    let cancels = Arc::new(AtomicUsize::new(0));
    let process = {
        let mut all = shared.cancelled.lock().unwrap();
        all.push(Arc::clone(&cancels));
        all.len() - 1
    };
    let mut session = Session {
        stream,
        shared,
        connection: shared.connections.fetch_add(1, Ordering::SeqCst),
        cancels,
        out: Vec::new(),
        statements: 0,
        status: b'I',
        prepared: HashMap::new(),
        bound: (String::new(), Vec::new()),
        skipping: false,
        copying: false,
        is_extended: false,
    };
    // The connection ends when either side has had enough.
    let _ = session.login(process).and_then(|()| session.talk());
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

/// The text up to the next zero, and what follows.
fn cut(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    (String::from_utf8(bytes[..end].to_vec()).unwrap(), &bytes[end + 1..])
}

impl Session<'_> {
    fn flush(&mut self) -> Result<(), Closed> {
        for chunk in std::mem::take(&mut self.out).chunks(self.shared.chunk) {
            self.stream.write_all(chunk).map_err(|_| Closed)?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(u8, Vec<u8>), Closed> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).map_err(|_| Closed)?;
        let mut body = vec![0; number(&header[1..]) as usize - 4];
        self.stream.read_exact(&mut body).map_err(|_| Closed)?;
        Ok((header[0], body))
    }

    fn login(&mut self, process: usize) -> Result<(), Closed> {
        match (self.shared.login)(self.connection) {
            Login::Trust => {}
            Login::Password(password) => {
                self.out = replies::auth_password();
                self.expect_password(&format!("{password}\0"))?;
            }
            Login::Md5 => {
                self.out = replies::auth_md5();
                let digest = postgres_protocol::authentication::md5_hash(b"u", b"secret", [1, 2, 3, 4]);
                self.expect_password(&format!("{digest}\0"))?;
            }
            Login::Scram => self.scram()?,
            Login::ScramHalf => {
                self.out = replies::auth_sasl(10, b"SCRAM-SHA-256\0\0");
                self.flush()?;
                self.read()?;
                return Err(Closed);
            }
            Login::Refuse(sqlstate, what) => {
                self.out = replies::fatal(sqlstate, what);
                self.flush()?;
                return Err(Closed);
            }
            Login::HangUp => return Err(Closed),
            Login::Silent => {
                self.read()?;
            }
            Login::SayLater(first, then) => {
                self.out = first;
                self.flush()?;
                std::thread::sleep(Duration::from_millis(300));
                self.out = then;
                self.flush()?;
                self.read()?;
            }
            Login::Say(words) => {
                for word in words {
                    self.out = word;
                    self.flush()?;
                    self.read()?;
                    self.shared.heard.fetch_add(1, Ordering::SeqCst);
                }
                loop {
                    self.read()?;
                    self.shared.heard.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        self.out = [
            replies::auth_ok(),
            replies::parameter_status(),
            replies::key(u32::try_from(process).unwrap()),
        ]
        .concat();
        self.out.extend(replies::ready(b'I'));
        self.flush()
    }

    fn scram(&mut self) -> Result<(), Closed> {
        self.out = replies::auth_sasl(10, b"SCRAM-SHA-256\0\0");
        self.flush()?;
        let (_, body) = self.read()?;
        let (mechanism, rest) = cut(&body);
        assert_eq!(mechanism, "SCRAM-SHA-256");
        let exchange = scram::Exchange::begin(std::str::from_utf8(&rest[4..]).unwrap());
        self.out = replies::auth_sasl(11, exchange.first().as_bytes());
        self.flush()?;
        let (_, body) = self.read()?;
        match exchange.finish(std::str::from_utf8(&body).unwrap()) {
            Some(signature) => {
                self.out = replies::auth_sasl(12, signature.as_bytes());
                self.flush()
            }
            None => {
                self.out = replies::fatal("28P01", "password authentication failed");
                self.flush()?;
                Err(Closed)
            }
        }
    }

    fn expect_password(&mut self, wanted: &str) -> Result<(), Closed> {
        self.flush()?;
        let (tag, body) = self.read()?;
        if tag != b'p' || body != wanted.as_bytes() {
            self.out = replies::fatal("28P01", "password authentication failed");
            self.flush()?;
            return Err(Closed);
        }
        Ok(())
    }

    fn talk(&mut self) -> Result<(), Closed> {
        loop {
            let (tag, body) = self.read()?;
            if !self.copying {
                self.is_extended = tag != b'Q';
            }
            match tag {
                b'X' => return Ok(()),
                b'd' | b'c' => panic!("scripts have no data"),
                b'f' if self.copying => {
                    self.copying = false;
                    self.out.extend(replies::error("57014", "COPY from stdin failed"));
                    self.skipping = self.is_extended;
                }
                // While data is copied in, the end of a request is thrown away.
                _ if self.copying => continue,
                b'Q' => self.statement(cut(&body).0, Vec::new())?,
                b'S' => self.skipping = false,
                _ if self.skipping => continue,
                _ => self.extended(tag, &body)?,
            }
            if self.copying {
                self.flush()?;
            } else if matches!((tag, self.is_extended), (b'S', _) | (b'Q' | b'f', false)) {
                self.out.extend(replies::ready(self.status));
                self.flush()?;
            }
        }
    }

    fn extended(&mut self, tag: u8, body: &[u8]) -> Result<(), Closed> {
        match tag {
            b'P' => {
                let (name, rest) = cut(body);
                self.prepared.insert(name, cut(rest).0);
                self.out.extend(replies::empty(b'1'));
            }
            b'B' => {
                let (name, rest) = cut(cut(body).1);
                self.bound = (self.prepared[&name].clone(), parameters(&rest[2..]));
                self.out.extend(replies::empty(b'2'));
            }
            b'D' => self.out.extend(replies::empty(b'n')),
            b'E' => {
                let (sql, parameters) = self.bound.clone();
                self.statement(sql, parameters)?;
            }
            other => panic!("a message of kind {other}"),
        }
        Ok(())
    }

    fn statement(&mut self, sql: String, parameters: Vec<Option<String>>) -> Result<(), Closed> {
        let statement = Statement {
            sql,
            parameters,
            connection: self.connection,
            number: self.statements,
        };
        self.statements += 1;
        self.shared.seen.lock().unwrap().push(statement.clone());
        let word = statement.sql.trim_start().get(..3).unwrap_or("").to_ascii_uppercase();
        match word.as_str() {
            "BEG" => self.status = b'T',
            "END" | "COM" | "ROL" => self.status = b'I',
            _ => {}
        }
        for act in (self.shared.answer)(&statement) {
            match act {
                Act::Send(bytes) => self.send(&bytes)?,
                Act::Sleep(time) => {
                    self.flush()?;
                    std::thread::sleep(time);
                }
                Act::UntilCancelled => self.until_cancelled()?,
                Act::Cut => {
                    self.flush()?;
                    return Err(Closed);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Closed> {
        match bytes.first() {
            Some(b'E') => {
                self.skipping = true;
                if self.status == b'T' {
                    self.status = b'E';
                }
            }
            Some(b'G') => self.copying = true,
            _ => {}
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn until_cancelled(&mut self) -> Result<(), Closed> {
        self.flush()?;
        let mut byte = [0];
        while self.cancels.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(5));
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.stream, &mut byte, flags) {
                Ok((0, _)) => return Err(Closed),
                Ok(_) if byte[0] == b'X' => return Err(Closed),
                // The request ends with a Sync, which is read when it has been answered.
                Ok(_) => assert!(
                    self.is_extended && byte[0] == b'S',
                    "nothing more while a statement runs"
                ),
                Err(_) => {}
            }
        }
        self.cancels.store(0, Ordering::SeqCst);
        self.send(&replies::error("57014", "canceling statement due to user request"))
    }
}

fn parameters(bytes: &[u8]) -> Vec<Option<String>> {
    let mut count = u16::from_be_bytes([bytes[0], bytes[1]]);
    let mut rest = &bytes[2..];
    let mut values = Vec::new();
    while count > 0 {
        let length = number(&rest[..4]);
        rest = &rest[4..];
        if length == u32::MAX {
            values.push(None);
        } else {
            values.push(Some(String::from_utf8(rest[..length as usize].to_vec()).unwrap()));
            rest = &rest[length as usize..];
        }
        count -= 1;
    }
    values
}
