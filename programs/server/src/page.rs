//! The dashboard at `/`: a page, its style and its scripts, which are parts of the program.
//!
//! It shows what other clients have chosen, names above all, to a user who may take locks away. So its policy lets it
//! run nothing but its own files, and makes the browser refuse every way but text to insert something into the page.
//! All that it shows and does is also available through `/v1`.

mod files;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use dlock_http::Code;

use self::files::File;
use crate::{Service, problem::Refusal};

/// The page's permissions, which are few: its own files, its own server, no frames around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    // Cached, but revalidated each time: a new server may have another page.
    (header::CACHE_CONTROL, "no-cache"),
];

pub(crate) fn routes() -> Router<Service> {
    Router::new()
        .route(
            "/",
            get(async |headers: HeaderMap| served(&files::PAGE, &headers)),
        )
        .route("/page/{file}", get(part))
}

async fn part(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match files::part(&name) {
        Some(file) => served(file, &headers),
        None => Refusal::from(Code::NotFound).into_response(),
    }
}

fn served(file: &File, asked: &HeaderMap) -> Response {
    let tag = file.tag();
    let known = asked.get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| knows(known, &tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, file.kind)], file.text).into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Whether a client has this version. A proxy that compresses what it passes on makes a tag weak.
fn knows(known: &HeaderValue, tag: &str) -> bool {
    let mut tags = known.to_str().unwrap_or_default().split(',');
    tags.any(|known| known.trim().trim_start_matches("W/") == tag)
}
