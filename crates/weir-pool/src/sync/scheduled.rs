//! A lock, a channel and a clock under the scheduler of a test.

use std::cell::Cell;
use std::sync::{LazyLock, PoisonError};
use std::time::{Duration, Instant};

/// A lock like parking_lot's.
#[derive(Debug)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tokio's channel for one value. What it does is one step, before which another thread may run.
pub(crate) mod oneshot {
    use shuttle::sync::atomic::{AtomicBool, Ordering};
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::{RecvError, TryRecvError};

    #[derive(Debug)]
    pub(crate) struct Sender<T>(oneshot::Sender<T>, Point);

    #[derive(Debug)]
    pub(crate) struct Receiver<T>(oneshot::Receiver<T>, Point);

    pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Sender(sender, Point::default()), Receiver(receiver, Point::default()))
    }

    impl<T> Sender<T> {
        pub(crate) fn send(self, value: T) -> Result<(), T> {
            self.1.reach();
            self.0.send(value)
        }
    }

    impl<T> Receiver<T> {
        pub(crate) fn close(&mut self) {
            self.1.reach();
            self.0.close();
        }

        pub(crate) fn try_recv(&mut self) -> Result<T, TryRecvError> {
            self.1.reach();
            self.0.try_recv()
        }
    }

    impl<T> Future for Receiver<T> {
        type Output = Result<T, RecvError>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            self.1.reach();
            Pin::new(&mut self.0).poll(cx)
        }
    }

    impl<T> Drop for Receiver<T> {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                self.1.reach();
            }
        }
    }

    /// Where another thread may be the next to run.
    #[derive(Debug, Default)]
    struct Point(AtomicBool);

    impl Point {
        fn reach(&self) {
            self.0.load(Ordering::SeqCst);
        }
    }
}

static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// All that is scheduled together runs in one thread of the system.
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Time begins again.
pub fn begin() {
    PASSED.set(Duration::ZERO);
}

/// Time passes.
pub fn pass(time: Duration) {
    PASSED.set(PASSED.get() + time);
}

/// What time it is.
pub fn now() -> Instant {
    *FIRST + PASSED.get()
}
