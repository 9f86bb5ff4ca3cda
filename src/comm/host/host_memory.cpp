#include "comm/host/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/read_in_place.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {
namespace {

std::string reason() { return std::strerror(errno); }

/// Returns a text that is equal for ranks that can open each other's files: same host, boot, user,
/// process namespace and network namespace. A container with its own network counts as its own
/// host.
std::string identity(const World& world) {
    std::string text = world.host() + " " + std::to_string(geteuid());
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    for (std::string line; std::getline(boot, line);) text += " " + line;
    for (const char* space : {"pid", "net"}) {
        char link[128];
        const ssize_t length =
            readlink(("/proc/self/ns/" + std::string(space)).c_str(), link, sizeof link);
        if (length > 0) text += " " + std::string(link, static_cast<size_t>(length));
    }
    return text;
}

std::string path_of(int64_t process, int file) {
    return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
}

/// The size of a huge page on most processors; large shared files are multiples of it.
constexpr size_t kHugePage = size_t{2} << 20;

size_t shared_file_size(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    return size < 2 * kHugePage ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
}

/// Maps a shared file; a large one at a multiple of a huge page. Returns null and sets errno on
/// failure.
char* map(int file, size_t size, int protection) {
    const size_t slack = size < 2 * kHugePage ? 0 : kHugePage;
    void* const room = mmap(nullptr, size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(room);
    const size_t skipped = slack == 0 ? 0 : -reinterpret_cast<uintptr_t>(room) % kHugePage;
    char* const data = begin + skipped;
    if (skipped > 0) munmap(begin, skipped);
    if (slack > skipped) munmap(data + size, slack - skipped);
    if (mmap(data, size, protection, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED) {
        if (slack > 0) madvise(data, size, MADV_HUGEPAGE);
        return data;
    }
    const int error = errno;
    munmap(data, size);
    errno = error;
    return nullptr;
}

/// Replaces the file's pages by huge pages, which makes a pass over rows up to a fifth faster.
/// For shared memory Linux does this only if a system setting allows it, which is rare, or on
/// request from 6.1 on.
void use_huge_pages(char* data, size_t size) {
    constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
    if (size >= kHugePage) madvise(data, size, kCollapse);
}

/// Maps another process's shared file for reading. Throws RunError.
std::shared_ptr<char> attach(int64_t process, int file, int64_t bytes) {
    const std::string path = path_of(process, file);
    const int own = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (own < 0) throw base::RunError("cannot open " + path + " (" + reason() + ")");
    const auto size = static_cast<size_t>(bytes);
    char* const data = map(own, size, PROT_READ);
    const std::string why = reason();
    close(own);
    if (!data) throw base::RunError("cannot map " + path + " (" + why + ")");
    return {data, [size](char* memory) { munmap(memory, size); }};
}

/// Returns the ranks of each host; empty unless every rank shares memory with another rank. By
/// rank: the name of its host ("" if it has no board), and its problem.
std::vector<std::vector<int>> sharing_hosts(const std::vector<std::string>& names,
                                            const std::vector<std::string>& problems) {
    std::vector<std::vector<int>> hosts;
    std::map<std::string, size_t> found;
    for (size_t rank = 0; rank < names.size(); ++rank) {
        if (names[rank].empty() || !problems[rank].empty()) return {};
        const auto [at, added] = found.emplace(names[rank], hosts.size());
        if (added) hosts.emplace_back();
        hosts[at->second].push_back(static_cast<int>(rank));
    }
    for (const std::vector<int>& ranks : hosts) {
        if (ranks.size() < 2) return {};
    }
    return hosts;
}

}  // namespace

/// The location of offered rows. Valid for an exchange if `number` is the exchange's number + 1.
/// Only its owner writes it.
struct HostMemory::RowOffer {
    alignas(64) std::atomic<uint64_t> number;
    const void* address;  ///< In the owner's process.
    int64_t stride, offset, bytes;
    uint64_t file_number;
    int descriptor;
};

/// The offers of one rank to the other ranks of its host.
struct HostMemory::Board {
    struct Entry {
        RowOffer rows, means;
        std::atomic<uint64_t> read;  ///< number + 1 of the last exchange that this rank has read
    };
    std::array<Entry, kEntries> entries;

    Entry& entry(uint64_t number) { return entries[number % kEntries]; }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Another rank of this host and its mapped files. The progress thread and the main thread both
/// use it.
struct HostMemory::Peer {
    int64_t process;
    std::shared_ptr<char> memory;  // holds `board`
    Board* board;
    std::mutex mutex;
    std::map<uint64_t, std::shared_ptr<char>> files;

    // Returns the address of offered rows in this process; maps their file at the first use.
    const char* address(const RowOffer& offer) {
        if (process == getpid()) return static_cast<const char*>(offer.address);
        const std::lock_guard lock(mutex);
        std::shared_ptr<char>& file = files[offer.file_number];
        if (!file) file = attach(process, offer.descriptor, offer.bytes);
        return file.get() + offer.offset;
    }
};

/// By this handle, the other ranks of a host find the board of a rank.
struct HostMemory::BoardHandle {
    pid_t process = 0;
    int descriptor = -1;    ///< The descriptor of the board's file in the process.
    uintptr_t address = 0;  ///< Address of `own_`, for threads of the process.
    std::string host;       ///< Identity of the host; empty if the rank has no board.

    std::string text() const {
        std::ostringstream out;
        if (!host.empty()) out << process << ' ' << descriptor << ' ' << address << ' ' << host;
        return out.str();
    }
    static BoardHandle parse(const std::string& text) {
        BoardHandle handle;
        std::istringstream in(text);
        in >> handle.process >> handle.descriptor >> handle.address >> std::ws;
        std::getline(in, handle.host);
        return handle;
    }
};

HostMemory::HostMemory(World& world)
    : rank_(world.rank()), peers_(static_cast<size_t>(world.size())) {
    if (world.size() == 1) return;
    BoardHandle mine;
    std::string problem;
    const bool off = reading_in_place_disabled();
    if (!off) {
        try {
            own_ = make_file(sizeof(Board));
            new (own_->data) Board{};
            mine = {getpid(), own_->descriptor, reinterpret_cast<uintptr_t>(&own_),
                    identity(world)};
        } catch (const base::UserError& error) {
            problem = error.what();
        }
    }
    std::vector<BoardHandle> all;
    for (const std::string& text : world.all_gather(mine.text())) {
        all.push_back(BoardHandle::parse(text));
    }
    const std::string& host = all[rank_].host;
    std::vector<int> neighbours;
    for (int rank = 0; rank < world.size(); ++rank) {
        if (rank == rank_ || host.empty() || all[rank].host != host) continue;
        neighbours.push_back(rank);
        try {
            peers_[rank] = attach_peer(all[rank]);
        } catch (const base::RunError& error) {
            problem = error.what();
        }
    }
    // All ranks of a host share memory, or none: both ends of an exchange must agree on how rows
    // move.
    const std::vector<std::string> problems = world.all_gather(problem);
    for (const int rank : neighbours) {
        if (problem.empty()) problem = problems[rank];
    }
    shared_ = problem.empty() && !neighbours.empty();
    std::vector<std::string> names;
    for (const BoardHandle& each : all) names.push_back(each.host);
    hosts_ = sharing_hosts(names, problems);
    if (!shared_) peers_ = std::vector<std::unique_ptr<Peer>>(static_cast<size_t>(world.size()));
    if (off && world.local_size() > 1) problem = "DBENCH_READ_IN_PLACE=0";
    obstacle_ = problem;
}

HostMemory::~HostMemory() = default;

std::unique_ptr<HostMemory::Peer> HostMemory::attach_peer(const BoardHandle& handle) {
    auto peer = std::make_unique<Peer>();
    peer->process = handle.process;
    // A peer that is a thread of this process waits in the next all_gather until its handle has
    // been copied. The copy keeps the board readable after its owner has released it.
    if (handle.process == getpid()) {
        const auto& board = *reinterpret_cast<const std::shared_ptr<SharedFile>*>(handle.address);
        peer->memory = {board, board->data};
    } else {
        peer->memory = attach(handle.process, handle.descriptor, sizeof(Board));
    }
    peer->board = reinterpret_cast<Board*>(peer->memory.get());
    return peer;
}

std::shared_ptr<HostMemory::SharedFile> HostMemory::make_file(int64_t bytes) {
    const size_t size = shared_file_size(bytes);
    const auto refuse = [&](int error) {
        return base::UserError("cannot reserve " + base::bytes_text(static_cast<double>(bytes)) +
                               " of memory that the ranks of a host share (" +
                               std::strerror(error) +
                               "): free memory, use fewer replicas, or set DBENCH_READ_IN_PLACE=0");
    };
    const int file = memfd_create("dbench-rows", MFD_CLOEXEC);
    if (file < 0) throw refuse(errno);
    // Reserves the memory now: a page that is missing later would kill the process without a
    // message.
    int error = ftruncate(file, static_cast<off_t>(size)) != 0 ? errno : 0;
    char* data = nullptr;
    if (!error) {
        data = map(file, size, PROT_READ | PROT_WRITE);
        if (!data) error = errno;
    }
    while (!error && (error = posix_fallocate(file, 0, static_cast<off_t>(size))) == EINTR) {
        error = 0;  // A signal interrupts the reservation of large files.
    }
    if (error) {
        if (data) munmap(data, size);
        close(file);
        throw refuse(error);
    }
    use_huge_pages(data, size);
    const std::lock_guard lock(mutex_);
    auto* const shared = new SharedFile{file, made_++, data, static_cast<int64_t>(size)};
    return {shared, [](SharedFile* s) {
                munmap(s->data, static_cast<size_t>(s->bytes));
                close(s->descriptor);
                delete s;
            }};
}

std::shared_ptr<void> HostMemory::allocate(int64_t bytes) {
    const std::shared_ptr<SharedFile> file = make_file(bytes);
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
    files_[file->data] = file;
    return {file, file->data};
}

std::shared_ptr<HostMemory::SharedFile> HostMemory::file_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    auto after = files_.upper_bound(data);
    if (after == files_.begin()) return nullptr;
    std::shared_ptr<SharedFile> file = std::prev(after)->second.lock();
    const bool inside = file && static_cast<const char*>(data) < file->data + file->bytes;
    return inside ? file : nullptr;
}

bool HostMemory::holds(const void* data) const { return file_of(data) != nullptr; }

std::optional<uint64_t> HostMemory::next() {
    if (in_use_[next_ % kEntries]) return {};
    in_use_[next_ % kEntries] = true;
    return next_++;
}

void HostMemory::release(uint64_t number) { in_use_[number % kEntries] = false; }

std::shared_ptr<void> HostMemory::publish_offer(RowOffer& offer, uint64_t number, SharedRows rows) {
    const std::shared_ptr<SharedFile> file = file_of(rows.data);
    DBENCH_EXPECT(file);
    offer.address = rows.data;
    offer.stride = rows.stride;
    offer.offset = rows.data - file->data;
    offer.bytes = file->bytes;
    offer.file_number = file->number;
    offer.descriptor = file->descriptor;
    offer.number.store(number + 1, std::memory_order_release);
    return file;
}

std::optional<SharedRows> HostMemory::find_offer(int rank, uint64_t number, RowOffer& offer) {
    if (offer.number.load(std::memory_order_acquire) != number + 1) return {};
    return SharedRows{const_cast<char*>(peers_[rank]->address(offer)), offer.stride};
}

std::shared_ptr<void> HostMemory::offer(uint64_t number, SharedRows rows) {
    return publish_offer(own_board().entry(number).rows, number, rows);
}

std::optional<SharedRows> HostMemory::rows_of(int rank, uint64_t number) {
    return find_offer(rank, number, peers_[rank]->board->entry(number).rows);
}

std::shared_ptr<void> HostMemory::offer_means(uint64_t number, SharedRows means) {
    return publish_offer(own_board().entry(number).means, number, means);
}

std::optional<SharedRows> HostMemory::means_of(int rank, uint64_t number) {
    return find_offer(rank, number, peers_[rank]->board->entry(number).means);
}

HostMemory::Board& HostMemory::own_board() const { return *reinterpret_cast<Board*>(own_->data); }

void HostMemory::mark_read(uint64_t number) {
    own_board().entry(number).read.store(number + 1, std::memory_order_release);
}

bool HostMemory::has_read(int rank, uint64_t number) const {
    return peers_[rank]->board->entry(number).read.load(std::memory_order_acquire) > number;
}

}  // namespace dbench::comm
