//! A table of MariaDB.

use std::path::Path;

use dlock_mysql_proof::{Database, Server, server};
use dlock_test_servers::certificates::Certificates;

use super::{certificates, trusting};
use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        assert_ended, block_on, command_ends_before_its_lease_when_the_store_is_gone,
        prefixes_are_stores_of_their_own, secret_is_told_to_nobody, set_up,
        two_setups_at_once_disturb_nobody,
    },
    stories::{
        certificate_of_the_server_is_checked, client_is_known_by_its_certificate, shared_stories,
    },
};

/// A database for one test, whose user has this password.
fn database() -> Database {
    block_on(async {
        let database = server().await.database().await;
        let user = format!(
            "CREATE USER IF NOT EXISTS guarded IDENTIFIED BY '{SECRET}'; GRANT ALL ON {}.* TO guarded",
            database.name
        );
        database.run(&user).await;
        database
    })
}

/// A scene of this user in the database.
fn known_as(user: &str, database: &Database, end: &str) -> Scene {
    let Database { name, address, .. } = database;
    at(format!("mysql://{user}@{address}/{name}{end}"))
}

fn bare() -> Scene {
    known_as(&format!("guarded:{SECRET}"), &database(), "")
}

fn scene() -> Scene {
    ready(bare())
}

fn ready(scene: Scene) -> Scene {
    set_up(&scene);
    scene
}

shared_stories!(scene(), clock: true);

#[test]
fn password_appears_in_no_output() {
    secret_is_told_to_nobody(&scene());
}

#[test]
fn missing_table_is_78_until_it_is_set_up() {
    let scene = bare();
    let all = &[TRY, RUN, STATUS, RELEASE, PURGE][..];
    assert_all_end(&scene, all, 78, &["there is no table", "dlock setup"]);
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
}

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    two_setups_at_once_disturb_nobody(&bare(), || {});
}

#[test]
fn prefixes_are_apart() {
    let database = database();
    let on = |prefix| {
        known_as(
            &format!("guarded:{SECRET}"),
            &database,
            &format!("?prefix={prefix}"),
        )
    };
    prefixes_are_stores_of_their_own(&ready(on("a")), &on("b"));
}

#[test]
fn wrong_password_database_and_a_missing_right_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP][..];
    let database = database();
    let wrong = known_as(&format!("guarded:wrong-{SECRET}"), &database, "");
    assert_all_end(&wrong, all, 78, &["Access denied for user 'guarded'"]);
    let nowhere = known_as("root", &database, "_of_nobody");
    assert_all_end(&nowhere, all, 78, &["the database does not exist"]);
    let few = format!("few_{}", &database.name[..12]);
    block_on(database.run(&format!(
        "CREATE USER {few}; GRANT SELECT ON {}.* TO {few}",
        database.name
    )));
    let few = known_as(&few, &database, "");
    assert_all_end(&few, &[SETUP], 78, &["denied"]);
    set_up(&known_as("root", &database, ""));
    assert_all_end(&few, &[TRY, RUN, RELEASE, PURGE], 78, &["lacks EXECUTE"]);
}

fn alone(settings: &[&str]) -> (Server, Database) {
    block_on(async {
        let server = Server::start(settings).await;
        let database = server.database_named("app").await;
        (server, database)
    })
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let (mut server, database) = alone(&[]);
    let scene = ready(known_as("root", &database, ""));
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.signal("KILL"));
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let (mut server, database) = alone(&[]);
    let scene = ready(known_as("root", &database, ""));
    block_on(server.freeze());
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

/// A server with this certificate, in whose database every user must use TLS, and `guarded` must meet this requirement.
fn over_tls(ours: &Certificates, requires: &str) -> (Server, Database) {
    let option = |name: &str, file: &Path| format!("--{name}={}", file.display());
    let (server, database) = alone(&[
        &option("ssl-cert", &ours.certificate),
        &option("ssl-key", &ours.key),
        &option("ssl-ca", &ours.authority),
    ]);
    let user = format!("CREATE USER guarded REQUIRE {requires}; GRANT ALL ON app.* TO guarded");
    block_on(database.run(&user));
    (server, database)
}

#[test]
fn server_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let (server, database) = over_tls(&ours, "SSL");
    let port = server.address().port();
    // By the system's list of authorities, or by a file.
    let system = |authority: &Certificates, host: &str| {
        let url = format!("mysql://guarded@{host}:{port}/app?sslrootcert=system");
        trusting(url, authority)
    };
    certificate_of_the_server_is_checked(system, &ours, &stranger);
    let file = |authority: &Certificates, host: &str| {
        let file = authority.authority.display();
        at(format!(
            "mysql://guarded@{host}:{port}/app?sslrootcert={file}"
        ))
    };
    certificate_of_the_server_is_checked(file, &ours, &stranger);
    let plain = known_as("guarded", &database, "");
    assert_all_end(&plain, &[TRY, STATUS, SETUP], 78, &["Access denied"]);
}

#[test]
fn client_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let (server, _database) = over_tls(&ours, "X509");
    let port = server.address().port();
    let showing = |parameters: &str| {
        let roots = format!("sslrootcert={}", ours.authority.display());
        at(format!(
            "mysql://guarded@localhost:{port}/app?{roots}&{parameters}"
        ))
    };
    client_is_known_by_its_certificate(showing, &ours, &stranger, "Access denied");
}
