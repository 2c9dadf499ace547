//! Headless Chromium, driven through the DevTools protocol over its pipe: no driver, no network.
#![allow(dead_code, reason = "each test binary uses its part")]

use crate::common::npm_file;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// axe-core, which finds what is wrong with a page for people who use a screen reader or a keyboard. `cargo xtask tools` installs it.
fn axe() -> String {
    std::fs::read_to_string(npm_file("axe-core/axe.min.js")).expect("it is text")
}

/// A page in a browser of its own.
pub(crate) struct Page {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What the page said on its console, and what it asked the network for.
    pub(crate) complaints: Vec<String>,
    _profile: TempDir,
}

impl Page {
    /// Opens the file `path`, without a network, in a window of that size.
    pub(crate) fn open(path: &Path, width: u32, scheme: &str) -> Self {
        Self::open_at(path, "", width, scheme)
    }

    /// The same, at the place that `fragment` says: the part of an address behind `#`, with it.
    pub(crate) fn open_at(path: &Path, fragment: &str, width: u32, scheme: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            ])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut page =
            Self { child, input, output, session: None, number: 0, complaints: Vec::new(), _profile: profile };
        let target = page.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = page.call("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        page.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        let offline = json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 });
        page.call("Network.emulateNetworkConditions", &offline);
        page.resize(width);
        page.medium("", scheme);
        page.call("Page.navigate", &json!({ "url": format!("file://{}{fragment}", path.display()) }));
        page.wait_for("document.readyState === 'complete' && document.documentElement.hasAttribute('data-drawn')");
        page
    }

    /// Makes the window so wide.
    pub(crate) fn resize(&mut self, width: u32) {
        let metrics = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Shows the page as on `medium` ("" for the screen), in the colour scheme `scheme`.
    pub(crate) fn medium(&mut self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": medium, "features": features }));
    }

    /// The value of an expression, awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", &parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key });
            if key == "Enter" && kind == "keyDown" {
                event["text"] = "\r".into();
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Presses the button of the mouse at one point, and releases it at another.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        for (kind, (x, y)) in [("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Types a text into what has the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// The page on paper, in base64.
    pub(crate) fn pdf(&mut self) -> String {
        self.call("Page.printToPDF", &json!({}))["data"].as_str().expect("a PDF").to_owned()
    }

    /// What axe-core finds wrong: the rule and the elements.
    pub(crate) fn accessibility(&mut self) -> Vec<String> {
        self.evaluate(&format!("{};null", axe()));
        let found = self.evaluate(
            "axe.run().then((found) => found.violations.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html.slice(0, 200)).join(' | ')))",
        );
        found.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Waits until a condition holds.
    pub(crate) fn wait_for(&mut self, condition: &str) {
        // A page that never gets there is one that complains; ten seconds are for a machine that is busy.
        let waiting = format!(
            "new Promise((done) => {{ const end = Date.now() + 60000; const look = () => ({condition}) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 50); look(); }})"
        );
        let came = loop {
            // While the page loads, the one before it is thrown away with whatever waits in it.
            let result = self.try_call(
                "Runtime.evaluate",
                &json!({ "expression": waiting, "returnByValue": true, "awaitPromise": true }),
            );
            if let Ok(result) = result {
                break result["result"]["value"].clone();
            }
        };
        assert_eq!(came, true, "{condition}: {:?}", self.complaints);
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("the browser listens: is chromium installed?");
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser ended: is chromium installed?");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == self.number {
                return answer.get("result").cloned().ok_or_else(|| answer["error"].clone());
            }
            self.note(&answer);
        }
    }

    /// Keeps what a page that is right never says.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let wrong = match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => true,
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                !["file:", "about:", "data:"].iter().any(|local| url.starts_with(local))
            }
            _ => false,
        };
        if wrong {
            self.complaints.push(event.to_string());
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
