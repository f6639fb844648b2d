//! A server that does what a seed says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{json, Value};

/// A small generator (xorshift64*): the same seed, the same nonsense.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next() as u8).collect()
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// See the module. Its sessions end soon after it is dropped.
pub struct Server {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Server {
    pub fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), over) = (stream, Arc::clone(&over)) else {
                    continue;
                };
                let dice = Dice::new(seed.wrapping_mul(1_000).wrapping_add(number as u64));
                std::thread::spawn(move || serve(stream, dice, &over));
            }
        });
        Self { port, ended }
    }

    /// A load for it, as the same seed says.
    pub fn spec(&self, seed: u64) -> Value {
        let mut dice = Dice::new(seed.wrapping_mul(77));
        let mut target = json!({"host": "127.0.0.1", "port": self.port, "user": "u", "database": "d"});
        if !dice.one_in(3) {
            target["password"] = "secret".into();
        }
        if dice.one_in(2) {
            let mode = *dice.pick(&["allow", "prefer", "require"]);
            let channel_binding = *dice.pick(&["disable", "prefer", "require"]);
            target["tls"] = json!({"mode": mode, "channel_binding": channel_binding});
        }
        let scripts = [
            "SELECT 1;",
            "BEGIN;\nSELECT 1 AS x \\gset\nSELECT :x;\nEND;\n",
            "SELECT 1 AS x \\; SELECT 2 AS y \\aset\nSELECT :y;\n",
            "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n",
            "COPY t FROM STDIN;\n",
            "\\sleep 2 ms\nSELECT 1;\n",
        ];
        let mut spec = json!({
            "target": target,
            "scripts": [{"name": "a", "text": dice.pick(&scripts)}, {"name": "b", "text": dice.pick(&scripts)}],
            "protocol": dice.pick(&["simple", "extended", "prepared"]),
            "clients": 1 + dice.below(6),
            "threads": 1 + dice.below(2),
            "on_error": dice.pick(&["continue", "abort_client", "abort_load"]),
            "max_tries": dice.below(3),
            "reconnect": dice.one_in(4),
            "io": dice.pick(&["auto", "epoll"]),
            "measure_s": 0.15,
            "connect_timeout_s": 0.15,
            "drain_s": 0.05,
            "verbose_errors": dice.one_in(3),
            "seed": seed,
        });
        if dice.one_in(3) {
            spec["statement_timeout_s"] = 0.05.into();
        }
        if dice.one_in(4) {
            spec["pace"] = json!({"rate_tps": 100.0});
        }
        if dice.one_in(4) {
            spec["measure_s"] = Value::Null;
            spec["transactions_per_client"] = 5.into();
            spec["limit_s"] = 0.3.into();
        }
        if dice.one_in(4) {
            spec["scripts"] = json!([]);
            spec["tpcc"] = json!({"warehouses": 2});
        }
        spec
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, mut dice: Dice, over: &AtomicBool) {
    let Ok(mut reader) = stream.try_clone() else { return };
    // Whatever the client says is read and forgotten, unless this server does not read.
    if !dice.one_in(10) {
        std::thread::spawn(move || while let Ok(1..) = reader.read(&mut [0; 4096]) {});
    }
    let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
    let mut stream = stream;
    let words = 1 + dice.below(40);
    for _ in 0..words {
        if over.load(Ordering::SeqCst) || say(&mut stream, &mut dice).is_err() {
            break;
        }
    }
    for _ in 0..dice.below(20) {
        if !over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let _ = stream.shutdown(*dice.pick(&[Shutdown::Both, Shutdown::Both, Shutdown::Write]));
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    framed(tag, u32::try_from(body.len() + 4).unwrap(), body)
}

fn framed(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

const TAGS: &[u8] = b"RKZEENTDDCISAGHWdc123nstvV";
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const ANSWER: &[u8] =
    b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0";

/// One thing, in one write.
fn say(stream: &mut TcpStream, dice: &mut Dice) -> std::io::Result<()> {
    let words = match dice.below(20) {
        0..3 => WELCOME.to_vec(),
        3..6 => [ANSWER, b"Z\0\0\0\x05I"].concat(),
        6 => message(b'Z', &[*dice.pick(b"ITEX\0")]),
        7 => b"N".to_vec(),
        8 => b"S".to_vec(),
        9 => authentication(dice),
        10 => message(b'E', b"SERROR\0VERROR\0C40001\0Mtry again\0\0"),
        11 => {
            let state = String::from_utf8_lossy(&dice.bytes(5)).into_owned();
            message(b'E', format!("SERROR\0VERROR\0C{state}\0Mwhy\0\0").as_bytes())
        }
        12 => dice.bytes(64),
        13 => {
            let body = dice.bytes(300);
            message(*dice.pick(TAGS), &body)
        }
        14 => {
            // A body that does not come, or comes without end.
            let length = *dice.pick(&[0, 3, 4, 5, 30_000, 30_001, 1 << 20, 1 << 30, (1 << 30) + 1, u32::MAX]);
            let mut words = framed(*dice.pick(TAGS), length, &dice.bytes(2_000));
            if dice.one_in(3) {
                words.resize(words.len() + 3_000_000, b'x');
            }
            words
        }
        15 => ANSWER.repeat(1 + dice.below(3_000) as usize),
        16 => message(*dice.pick(b"GHW"), &[0, 0, 0]).repeat(1 + dice.below(50) as usize),
        17 => {
            let mut words = [WELCOME, ANSWER].concat();
            let at = dice.below(words.len() as u64) as usize;
            words[at] = dice.next() as u8;
            words
        }
        18 => WELCOME[..dice.below(WELCOME.len() as u64) as usize].to_vec(),
        _ => {
            std::thread::sleep(Duration::from_millis(dice.below(60)));
            return Ok(());
        }
    };
    stream.write_all(&words)
}

fn authentication(dice: &mut Dice) -> Vec<u8> {
    let kind = *dice.pick(&[0_u8, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 255]);
    let data: Vec<u8> = match kind {
        5 => vec![1, 2, 3, 4],
        10 => dice
            .pick(&[
                &b"SCRAM-SHA-256\0\0"[..],
                b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
                b"\0",
                b"X",
                b"OAUTHBEARER\0\0",
            ])
            .to_vec(),
        11 => dice
            .pick(&[&b"r=a,s=AAAA,i=4096"[..], b"r=,s=,i=2147483648", b"r=\xff", b"i="])
            .to_vec(),
        12 => b"v=AAAA".to_vec(),
        _ => dice.bytes(20),
    };
    message(b'R', &[&[0, 0, 0, kind], &data[..]].concat())
}
