//! An interactive shell on its own terminal.

use std::{
    io::{Read, Write},
    process::Child,
    sync::{Arc, Mutex},
    thread,
};

use pty_process::blocking::{Command, Pty};

use super::{Scene, until};

/// A shell with job control, its keyboard and its screen.
pub(crate) struct Shell {
    keyboard: Arc<Pty>,
    screen: Arc<Mutex<String>>,
    /// The length of the output read so far.
    read: usize,
    child: Child,
}

impl Shell {
    /// Starts bash in the scene, and waits for its prompt.
    pub(crate) fn start(scene: &Scene) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(24, 240)).unwrap();
        let child = Command::new("env")
            .args([
                "--default-signal",
                "bash",
                "--norc",
                "--noprofile",
                "--noediting",
                "-i",
            ])
            .env_clear()
            .envs(scene.environment())
            .env("PS1", "ready> ")
            .env("TERM", "xterm")
            .current_dir(scene.folder())
            .spawn(pts)
            .unwrap();
        let keyboard = Arc::new(pty);
        let screen = Arc::new(Mutex::new(String::new()));
        thread::spawn({
            let (pty, screen) = (Arc::clone(&keyboard), Arc::clone(&screen));
            move || {
                let mut bytes = [0; 4096];
                // Ends with the last process on the terminal.
                while let Ok(read @ 1..) = (&*pty).read(&mut bytes) {
                    screen
                        .lock()
                        .unwrap()
                        .push_str(&String::from_utf8_lossy(&bytes[..read]));
                }
            }
        });
        let mut shell = Self {
            keyboard,
            screen,
            read: 0,
            child,
        };
        shell.expect("ready> ");
        shell
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\n"));
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        (&*self.keyboard).write_all(keys.as_bytes()).unwrap();
    }

    /// Presses Ctrl and a letter.
    pub(crate) fn control(&mut self, letter: char) {
        let key = u8::try_from(letter).unwrap() & 0x1f;
        self.keys(&char::from(key).to_string());
    }

    /// Waits until this is on the screen, after the text that was waited for last, and returns what
    /// came before it. Typed text is on the screen too: let the shell join what it should print.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let before = until(
            &format!("{text:?} on the screen, which shows {:?}", self.unread()),
            || {
                let unread = self.unread();
                unread.find(text).map(|at| unread[..at].to_owned())
            },
        );
        self.read += before.len() + text.len();
        before
    }

    /// The output on the screen after the text that was waited for last.
    pub(crate) fn unread(&self) -> String {
        self.screen.lock().unwrap()[self.read..].to_owned()
    }

    /// The exit code of a typed command, and what it printed before.
    #[track_caller]
    pub(crate) fn expect_code(&mut self, code: i32) -> String {
        let printed = self.expect("code=");
        self.expect(&format!("{code}."));
        printed
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Its number is ours until it is reaped. Processes that it started belong to the scene.
        self.child.kill().ok();
        self.child.wait().ok();
        if thread::panicking() {
            eprintln!("the screen showed:\n{}", self.screen.lock().unwrap());
        }
    }
}
