//! Bytes as text.

const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// Two digits for each byte: stores take printable values only.
pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// What [`to_hex`] has written.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    let mut bytes = Vec::with_capacity(pairs.len());
    for &[high, low] in pairs {
        bytes.push(digit(high)? << 4 | digit(low)?);
    }
    rest.is_empty().then_some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(to_hex(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(from_hex("001fff"), Some(vec![0, 0x1f, 0xff]));
        assert_eq!(from_hex("AbCd"), Some(vec![0xab, 0xcd]));
        for bad in ["0", "0g", "g0", "+1", "é"] {
            assert_eq!(from_hex(bad), None, "{bad}");
        }
    }
}
