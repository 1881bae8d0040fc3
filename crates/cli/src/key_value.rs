//! Arguments of the form `KEY=VALUE`.

/// Splits `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write KEY=VALUE, such as connection.receive_buffer=60KB".into()),
    }
}
