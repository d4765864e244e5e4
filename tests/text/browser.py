"""Controls headless Chromium through a pipe, with JSON messages that end with a zero byte (DevTools protocol)."""
import fcntl
import json
import os
import queue
import shutil
import signal
import tempfile
import threading
import time
import urllib.parse

from suite import Failure, check

ANSWER = 90  # the maximum number of seconds for an answer


class Browser:
    """One browser process with its own profile and folder. Cases may use it from several threads."""

    def __init__(self):
        program = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
        check(program, 'there is no Chromium here: install the package chromium')
        self.folder = folder = tempfile.mkdtemp(prefix='attnc-browser-')
        self.log = os.path.join(folder, 'chromium.log')
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pair in (os.pipe(), os.pipe())
                for end in self.moved(pair)]
        theirs_in, self.out, self.into, theirs_out = ends[0], ends[1], ends[2], ends[3]
        profile = os.path.join(folder, 'profile')
        argv = [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
                '--no-default-browser-check', '--disable-background-networking', '--disable-component-update',
                '--disable-sync', '--disable-extensions', '--disable-breakpad', '--force-color-profile=srgb',
                '--hide-scrollbars', '--remote-debugging-pipe', '--user-data-dir=' + profile, 'about:blank']
        environment = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder)
        with open(self.log, 'wb') as log:
            self.pid = os.posix_spawn(program, argv, environment, setpgroup=0, file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
                (os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)])
        os.close(theirs_in)
        os.close(theirs_out)
        self.lock, self.answers, self.events, self.last, self.gone = threading.Lock(), {}, {}, 0, False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    @staticmethod
    def moved(pair):
        """Yields the ends of a pipe, so that each is duplicated, and closes the originals. Descriptors 3 and 4 are
        the browser's."""
        for end in pair:
            yield end
            os.close(end)

    def read(self):
        rest = b''
        while True:
            try:
                more = os.read(self.into, 1 << 16)
            except OSError:
                more = b''
            if not more:
                break
            *whole, rest = (rest + more).split(b'\0')
            for message in map(json.loads, whole):
                with self.lock:
                    to = (self.answers.pop(message['id'], None) if 'id' in message
                          else self.events.get(message.get('sessionId')))
                if to is not None:
                    to.put(message)
        with self.lock:
            self.gone = True
            for waiting in self.answers.values():
                waiting.put(None)

    def ask(self, method, tab=None, **parameters):
        answer = queue.Queue()
        with self.lock:
            if self.gone:
                raise Failure('the browser is gone: ' + self.said())
            self.last += 1
            number = self.last
            self.answers[number] = answer
            message = {'id': number, 'method': method, 'params': parameters} | ({'sessionId': tab} if tab else {})
            data = json.dumps(message).encode() + b'\0'
            try:
                while data:
                    data = data[os.write(self.out, data):]
            except OSError as error:
                raise Failure('the browser does not listen: %s\n%s' % (error, self.said()))
        try:
            got = answer.get(timeout=ANSWER)
        except queue.Empty:
            raise Failure('no answer to %s within %d s' % (method, ANSWER))
        if got is None:
            raise Failure('the browser ended at %s: %s' % (method, self.said()))
        check('error' not in got, '%s: %s' % (method, got.get('error')))
        return got['result']

    def said(self):
        with open(self.log, errors='replace') as f:
            return f.read()[-2000:]

    def close(self):
        """Ends the browser and all its processes, whatever their state."""
        try:
            self.ask('Browser.close')
        except Failure:
            pass
        end = time.monotonic() + 5
        while time.monotonic() < end and os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            time.sleep(0.02)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass
        self.reader.join(ANSWER)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """A tab of the browser that shows a file. Its requests and errors are recorded."""

    def __init__(self, browser, path, width=1280, height=900, dark=False, script=True, fragment=''):
        self.browser, self.requests, self.complaints, self.loaded = browser, [], [], False
        self.url = 'file://' + urllib.parse.quote(path)
        self.context = browser.ask('Target.createBrowserContext')['browserContextId']
        self.target = browser.ask('Target.createTarget', url='about:blank', browserContextId=self.context)['targetId']
        self.tab = browser.ask('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        self.queue = queue.Queue()
        with browser.lock:
            browser.events[self.tab] = self.queue
        for domain in 'Page', 'Runtime', 'Log', 'Network':
            self.ask(domain + '.enable')
        self.ask('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.resize(width, height)
        if not script:
            self.ask('Emulation.setScriptExecutionDisabled', value=True)
        self.ask('Page.navigate', url=self.url + fragment)
        end = time.monotonic() + ANSWER
        while not self.loaded:
            check(time.monotonic() < end, 'not loaded within %d s: %s' % (ANSWER, self.url))
            self.gather(0.05)
        if script:
            self.settle()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.ask('Target.closeTarget', targetId=self.target)
        self.browser.ask('Target.disposeBrowserContext', browserContextId=self.context)
        with self.browser.lock:
            self.browser.events.pop(self.tab, None)

    def ask(self, method, **parameters):
        return self.browser.ask(method, tab=self.tab, **parameters)

    def gather(self, seconds=0):
        """Reads the events that have arrived."""
        while True:
            try:
                event = self.queue.get(timeout=seconds) if seconds else self.queue.get_nowait()
            except queue.Empty:
                return
            method, about = event['method'], event['params']
            if method == 'Page.loadEventFired':
                self.loaded = True
            elif method == 'Network.requestWillBeSent':
                self.requests.append(about['request']['url'])
            elif method == 'Runtime.exceptionThrown':
                details = about['exceptionDetails']
                self.complaints.append(details.get('exception', {}).get('description', details['text']))
            elif method == 'Runtime.consoleAPICalled':
                self.complaints.append('console.%s %s' % (about['type'], [a.get('value') for a in about['args']]))
            elif method == 'Log.entryAdded':
                self.complaints.append(about['entry']['text'])
            seconds = 0

    def resize(self, width, height):
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, expression):
        """Returns the value of a JavaScript expression, which may be a promise."""
        got = self.ask('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        check('exceptionDetails' not in got, '%s: %s' % (expression, got.get('exceptionDetails')))
        return got['result'].get('value')

    def settle(self):
        """Waits until the page is drawn."""
        self.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))')

    def click(self, selector):
        """Clicks on the middle of the element with the mouse."""
        place = self.run('''(() => { const e = document.querySelector(%s); if (!e) return null;
            e.scrollIntoView({block: "center", inline: "center"}); const b = e.getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2]; })()''' % json.dumps(selector))
        check(place, 'nothing to click on: ' + selector)
        self.settle()
        self.mouse('mouseMoved', *place)
        self.mouse('mousePressed', *place)
        self.mouse('mouseReleased', *place)
        self.settle()

    def mouse(self, kind, x, y):
        button = {} if kind == 'mouseMoved' else {'button': 'left', 'clickCount': 1}
        self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, **button)

    def press(self, key):
        about = {'Enter': {'text': '\r', 'windowsVirtualKeyCode': 13},
                 ' ': {'text': ' ', 'windowsVirtualKeyCode': 32}}.get(key, {})
        self.ask('Input.dispatchKeyEvent', type='keyDown', key=key, **about)
        self.ask('Input.dispatchKeyEvent', type='keyUp', key=key, **{k: v for k, v in about.items() if k != 'text'})
        self.settle()

    def type(self, text):
        self.ask('Input.insertText', text=text)
        self.settle()

    def quiet(self):
        """Checks that the page had no error and requested only itself."""
        self.ask('Page.getLayoutMetrics')
        self.gather(0.05)
        check(not self.complaints, 'the page complains: %s' % self.complaints)
        others = [url for url in self.requests if url.split('#')[0] != self.url and not url.startswith('data:')]
        check(not others, 'the page asks for %s' % others)
        check(self.requests, 'no request was seen, not even that for the page')
