//! The server's messages.

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn text(value: &str) -> Vec<u8> {
    [value.as_bytes(), b"\0"].concat()
}

fn fields(severity: &str, sqlstate: &str, what: &str) -> Vec<u8> {
    format!("S{severity}\0V{severity}\0C{sqlstate}\0M{what}\0\0").into_bytes()
}

pub fn error(sqlstate: &str, what: &str) -> Vec<u8> {
    message(b'E', &fields("ERROR", sqlstate, what))
}

pub fn fatal(sqlstate: &str, what: &str) -> Vec<u8> {
    message(b'E', &fields("FATAL", sqlstate, what))
}

pub fn notice(what: &str) -> Vec<u8> {
    message(b'N', &fields("NOTICE", "00000", what))
}

pub fn notification() -> Vec<u8> {
    message(b'A', &[&[0, 0, 0, 1][..], b"channel\0payload\0"].concat())
}

pub fn parameter_status() -> Vec<u8> {
    message(b'S', b"TimeZone\0UTC\0")
}

pub fn complete(tag: &str) -> Vec<u8> {
    message(b'C', &text(tag))
}

pub fn row_description(names: &[&str]) -> Vec<u8> {
    let mut body = u16::try_from(names.len()).unwrap().to_be_bytes().to_vec();
    for name in names {
        body.extend_from_slice(&text(name));
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]);
    }
    message(b'T', &body)
}

pub fn row(values: &[Option<&str>]) -> Vec<u8> {
    let mut body = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
            Some(value) => {
                body.extend_from_slice(&u32::try_from(value.len()).unwrap().to_be_bytes());
                body.extend_from_slice(value.as_bytes());
            }
        }
    }
    message(b'D', &body)
}

pub fn copy_in() -> Vec<u8> {
    message(b'G', &[0, 0, 0])
}

pub fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

pub fn empty(tag: u8) -> Vec<u8> {
    message(tag, &[])
}

pub fn auth_ok() -> Vec<u8> {
    message(b'R', &[0, 0, 0, 0])
}

pub fn auth_password() -> Vec<u8> {
    message(b'R', &[0, 0, 0, 3])
}

pub fn auth_md5() -> Vec<u8> {
    message(b'R', &[0, 0, 0, 5, 1, 2, 3, 4])
}

pub fn auth_sasl(kind: u8, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&[0, 0, 0, kind], data].concat())
}

pub fn key(process: u32) -> Vec<u8> {
    message(b'K', &[process.to_be_bytes(), 99_u32.to_be_bytes()].concat())
}
