#include "base/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/folder.hpp"
#include "base/in_child.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

/// A new descriptor of a file, which is created if it does not exist.
class Opened {
public:
    explicit Opened(const std::string& path)
        : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
    ~Opened() { ::close(descriptor_); }
    Opened(const Opened&) = delete;
    operator int() const { return descriptor_; }

private:
    int descriptor_;
};

/// Returns true if another process could lock the file now.
bool free_for_others(const std::string& path) {
    return in_child([&] { return FileLock().take(path) ? 0 : 1; }).exit_status == 0;
}

}  // namespace

TEST_CASE("Only one FileLock at a time holds a file, in one process or in several") {
    const Folder folder;
    const std::string path = folder / "lock";
    FileLock first, second;
    CHECK(first.take(path));
    CHECK(first.take(path));  // This object holds the lock already.
    CHECK_FALSE(second.take(path));
    CHECK_FALSE(free_for_others(path));
    first.release();
    CHECK(free_for_others(path));
    CHECK(second.take(path));
    CHECK_FALSE(first.take(path));
}

TEST_CASE("A lock ends with the object or process that holds it, and the file is kept") {
    const Folder folder;
    const std::string path = folder / "lock";
    { CHECK(FileLock().take(path)); }
    CHECK(free_for_others(path));
    CHECK(std::filesystem::exists(path));
    const Ended ended = in_child([&] {
        FileLock lock;
        if (!lock.take(path) || free_for_others(path)) return 1;
        ::raise(SIGKILL);
        return 0;
    });
    CHECK(ended.signal == SIGKILL);
    CHECK(FileLock().take(path));
}

TEST_CASE("A child process that ends does not release the lock of its parent") {
    const Folder folder;
    const std::string path = folder / "lock";
    FileLock lock;
    CHECK(lock.take(path));
    CHECK(in_child([] { return 0; }).exit_status == 0);
    CHECK_FALSE(free_for_others(path));
}

TEST_CASE("take() succeeds if the file cannot be created, and does not follow links") {
    const Folder folder;
    CHECK(FileLock().take(folder / "no/folder/lock"));
    std::filesystem::create_symlink("target", folder / "link");
    CHECK(FileLock().take(folder / "link"));
    CHECK_FALSE(std::filesystem::exists(folder / "target"));
}

TEST_CASE("Ranges of bytes can be locked exclusively or shared") {
    const Folder folder;
    const Opened first(folder / "file"), second(folder / "file");
    const LockRange bytes{.first = 100, .count = 1}, beside{.first = 101, .count = 1};
    CHECK(lock_state(second, bytes) == LockState::no);
    CHECK(try_lock_bytes(first, LockMode::shared, bytes));
    CHECK(lock_state(second, bytes) == LockState::yes);
    CHECK(lock_state(second, beside) == LockState::no);
    CHECK(lock_state(first, bytes) == LockState::no);  // The descriptor does not see its own lock.
    CHECK(try_lock_bytes(second, LockMode::shared, bytes));
    CHECK_FALSE(try_lock_bytes(second, LockMode::exclusive, bytes));
    CHECK(try_lock_bytes(second, LockMode::exclusive, beside));
    CHECK_FALSE(try_lock_bytes(first, LockMode::shared, {}));  // Locking the whole file fails.
    CHECK(lock_state(-1, bytes) == LockState::unknown);
}

}  // namespace dbench::base
