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

/// A descriptor of its own of a file that is made where there is none.
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

/// Whether another process could take it now.
bool free_for_others(const std::string& path) {
    return in_child([&] { return FileLock().take(path) ? 0 : 1; }).exit_status == 0;
}

}  // namespace

TEST_CASE("A file is held by one lock at a time, of whichever process") {
    const Folder folder;
    const std::string path = folder / "lock";
    FileLock first, second;
    CHECK(first.take(path));
    CHECK(first.take(path));  // it is held already
    CHECK_FALSE(second.take(path));
    CHECK_FALSE(free_for_others(path));
    first.release();
    CHECK(free_for_others(path));
    CHECK(second.take(path));
    CHECK_FALSE(first.take(path));
}

TEST_CASE("A lock ends with what holds it, and the file stays") {
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

TEST_CASE("A child process that ends leaves its parent's lock alone") {
    const Folder folder;
    const std::string path = folder / "lock";
    FileLock lock;
    CHECK(lock.take(path));
    CHECK(in_child([] { return 0; }).exit_status == 0);
    CHECK_FALSE(free_for_others(path));
}

TEST_CASE("Nobody is kept out where the file cannot be made, and links are not followed") {
    const Folder folder;
    CHECK(FileLock().take(folder / "no/folder/lock"));
    std::filesystem::create_symlink("target", folder / "link");
    CHECK(FileLock().take(folder / "link"));
    CHECK_FALSE(std::filesystem::exists(folder / "target"));
}

TEST_CASE("Bytes are locked by range, for one alone or for several") {
    const Folder folder;
    const Opened first(folder / "file"), second(folder / "file");
    const LockRange bytes{.first = 100, .count = 1}, beside{.first = 101, .count = 1};
    CHECK(locked_bytes(second, bytes) == Locked::no);
    CHECK(lock_bytes(first, Share::shared, bytes));
    CHECK(locked_bytes(second, bytes) == Locked::yes);
    CHECK(locked_bytes(second, beside) == Locked::no);
    CHECK(locked_bytes(first, bytes) == Locked::no);  // no other's
    CHECK(lock_bytes(second, Share::shared, bytes));
    CHECK_FALSE(lock_bytes(second, Share::alone, bytes));
    CHECK(lock_bytes(second, Share::alone, beside));
    CHECK_FALSE(lock_bytes(first, Share::shared, {}));  // the whole file
    CHECK(locked_bytes(-1, bytes) == Locked::unknown);
}

}  // namespace dbench::base
