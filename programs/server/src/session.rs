//! `/v1/session`: log-ins of browsers, and the user who is logged in.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use dlock_http::{
    Code, Problem,
    leases::Done,
    session::{LogIn, Session},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Right, Service,
    body::Body,
    cookie,
    origin::Origin,
    problem::Refusal,
    rights::{EVERYWHERE, Holder},
};

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(show, log_in, log_out))
}

/// The sender's identity as the server sees it, and its rights. An unknown sender has none.
#[utoipa::path(
    get,
    path = "/v1/session",
    tag = "server",
    responses(
        (status = 200, description = "Whom it takes the sender for.", body = Session),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn show(Extension(sender): Extension<Origin>) -> Json<Session> {
    Json(session(&sender))
}

/// Logs a browser in: stores the token in a cookie that no script reads. From such a browser, changes are accepted only
/// from the page of this server.
#[utoipa::path(
    post,
    path = "/v1/session",
    tag = "server",
    request_body = LogIn,
    responses(
        (status = 200, description = "The browser is logged in.", body = Session),
        (status = 401, description = "`unauthenticated`: the server knows no such token.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn log_in(
    State(service): State<Service>,
    Body(LogIn { token }): Body<LogIn>,
) -> Result<Response, Refusal> {
    let Some(rights) = service.access().rights else {
        return Ok(Json(session(&Origin::Anybody)).into_response());
    };
    let Some(holder) = rights.of_token(&token) else {
        let detail = "this server knows no such token";
        return Err(Refusal::new(Code::Unauthenticated, detail));
    };
    tracing::info!(who = ?holder.name, "logged in");
    let session = session(&Origin::LoggedIn(holder.clone()));
    Ok(with_cookie(Json(session), cookie::keeping(&token)))
}

/// Removes the cookie of a log-in.
#[utoipa::path(
    delete,
    path = "/v1/session",
    tag = "server",
    responses(
        (status = 200, description = "The browser is not logged in.", body = Done),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn log_out() -> Response {
    with_cookie(Json(Done {}), cookie::forgetting())
}

fn with_cookie(answer: impl IntoResponse, cookie: Option<HeaderValue>) -> Response {
    let mut response = answer.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn session(sender: &Origin) -> Session {
    let logged_in = matches!(sender, Origin::LoggedIn(_));
    match sender {
        Origin::Anybody => Session {
            rights: BTreeMap::from([(EVERYWHERE.to_owned(), words(Right::ALL))]),
            ..Session::default()
        },
        Origin::Unknown => Session::default(),
        Origin::Known(holder) | Origin::LoggedIn(holder) => Session {
            name: Some(holder.name.clone()),
            logged_in,
            rights: of(holder),
        },
    }
}

fn of(holder: &Holder) -> BTreeMap<String, BTreeSet<String>> {
    let rights = holder.rights().iter();
    rights
        .map(|(namespace, rights)| (namespace.clone(), words(rights.iter().copied())))
        .collect()
}

fn words(rights: impl IntoIterator<Item = Right>) -> BTreeSet<String> {
    rights.into_iter().map(|right| right.to_string()).collect()
}
