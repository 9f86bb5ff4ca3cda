#include "comm/host/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {
namespace {

std::string reason() { return std::strerror(errno); }

/// What ranks have in common that can open each other's files: system, users, names of processes.
/// A network of its own makes a host of its own.
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

/// What a large segment is a multiple of: a huge page of most processors.
constexpr size_t kHugePage = size_t{2} << 20;

size_t segment_size(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    return size < 2 * kHugePage ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
}

/// Maps a segment; a large one where huge pages can begin. null, and errno, where that fails.
char* map(int file, size_t size, int protection) {
    const size_t slack = size < kHugePage ? 0 : kHugePage;
    void* const room = mmap(nullptr, size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(room);
    const size_t skipped = slack == 0 ? 0 : -reinterpret_cast<uintptr_t>(room) % kHugePage;
    char* const data = begin + skipped;
    if (skipped > 0) munmap(begin, skipped);
    if (slack > skipped) munmap(data + size, slack - skipped);
    if (mmap(data, size, protection, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED) {
#ifdef MADV_HUGEPAGE
        if (slack > 0) madvise(data, size, MADV_HUGEPAGE);
#endif
        return data;
    }
    const int error = errno;
    munmap(data, size);
    errno = error;
    return nullptr;
}

/// Puts huge pages in the place of what is there: a pass over rows takes up to a fifth less time.
/// Linux gives them to memory that is shared where a setting says so, which is off nearly
/// everywhere, or, from 6.1 on, by this call.
void use_huge_pages(char* data, size_t size) {
#ifdef __linux__
    constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers do not have
    if (size >= kHugePage) madvise(data, size, kCollapse);
#endif
}

/// Maps another process's segment to be read. Throws RunError.
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

bool switched_off() {
    const char* const text = std::getenv("DBENCH_READ_IN_PLACE");
    if (!text || !*text || std::strcmp(text, "1") == 0) return false;
    if (std::strcmp(text, "0") == 0) return true;
    throw base::UserError("DBENCH_READ_IN_PLACE=" + std::string(text) +
                          " is neither 0 (messages everywhere) nor 1 (ranks of a host read "
                          "neighbours' rows in place, the default)");
}

}  // namespace

/// Where rows lie, once `number` is the exchange's + 1. Written by its owner alone.
struct HostMemory::Offer {
    alignas(64) std::atomic<uint64_t> number;
    const void* address;  ///< in the owner's process
    int64_t stride, offset, bytes;
    uint64_t segment;
    int file;
};

/// What one rank tells the others of its host.
struct HostMemory::Board {
    struct Slot {
        Offer rows, means;
        std::atomic<uint64_t> read;  ///< likewise
    };
    std::array<Slot, kSlots> slots;

    Slot& slot(uint64_t number) { return slots[number % kSlots]; }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Another rank of this host. The engine's thread and the main thread both look.
struct HostMemory::Peer {
    int64_t process;
    std::shared_ptr<char> memory;  // of the board
    Board* board;
    std::mutex mutex;
    std::map<uint64_t, std::shared_ptr<char>> segments;

    const char* address(const Offer& offer) {
        if (process == getpid()) return static_cast<const char*>(offer.address);
        const std::lock_guard lock(mutex);
        std::shared_ptr<char>& segment = segments[offer.segment];
        if (!segment) segment = attach(process, offer.file, offer.bytes);
        return segment.get() + offer.offset;
    }
};

HostMemory::HostMemory(World& world)
    : rank_(world.rank()), peers_(static_cast<size_t>(world.size())) {
    if (world.size() == 1) return;
    // What each rank says: identity, and where its board is; or why it has none.
    std::ostringstream mine;
    std::string problem;
    const bool off = switched_off();
    if (!off) {
        try {
            own_ = make_segment(sizeof(Board));
            new (own_->data) Board{};
            mine << getpid() << ' ' << own_->file << ' ' << identity(world);
        } catch (const base::UserError& error) {
            problem = error.what();
        }
    }
    const std::vector<std::string> all = world.all_gather(mine.str());
    const auto host_of = [](const std::string& text) {
        size_t at = 0;
        for (int k = 0; k < 2 && at != text.npos; ++k) at = text.find(' ', at + 1);
        return at == text.npos ? "" : text.substr(at);
    };
    const std::string host = host_of(mine.str());
    std::vector<int> neighbours;
    for (int rank = 0; rank < world.size(); ++rank) {
        if (rank == rank_ || host.empty() || host_of(all[rank]) != host) continue;
        neighbours.push_back(rank);
        auto peer = std::make_unique<Peer>();
        std::istringstream text(all[rank]);
        int file = 0;
        text >> peer->process >> file;
        try {
            // Ranks that are threads of this process map the board, too: it must stay readable
            // after its owner has released it.
            peer->memory = attach(peer->process, file, sizeof(Board));
            peer->board = reinterpret_cast<Board*>(peer->memory.get());
            peers_[rank] = std::move(peer);
        } catch (const base::RunError& error) {
            problem = error.what();
        }
    }
    // All of a host, or none of them: both ends of an exchange must know how rows go.
    const std::vector<std::string> problems = world.all_gather(problem);
    for (const int rank : neighbours) {
        if (problem.empty()) problem = problems[rank];
    }
    shared_ = problem.empty() && !neighbours.empty();
    if (!shared_) peers_ = std::vector<std::unique_ptr<Peer>>(static_cast<size_t>(world.size()));
    if (off && world.local_size() > 1) problem = "DBENCH_READ_IN_PLACE=0";
    obstacle_ = problem;
}

HostMemory::~HostMemory() = default;

std::shared_ptr<HostMemory::Segment> HostMemory::make_segment(int64_t bytes) {
    const size_t size = segment_size(bytes);
    const auto refuse = [&](int error) {
        return base::UserError("cannot reserve " + base::bytes_text(static_cast<double>(bytes)) +
                               " of memory that the ranks of a host share (" +
                               std::strerror(error) +
                               "): free memory, use fewer replicas, or set DBENCH_READ_IN_PLACE=0");
    };
    const int file = memfd_create("dbench-rows", MFD_CLOEXEC);
    if (file < 0) throw refuse(errno);
    // Reserved now: a page that is missing later would end the process without a word.
    int error = ftruncate(file, static_cast<off_t>(size)) != 0 ? errno : 0;
    char* data = nullptr;
    if (!error) {
        data = map(file, size, PROT_READ | PROT_WRITE);
        if (!data) error = errno;
    }
    while (!error && (error = posix_fallocate(file, 0, static_cast<off_t>(size))) == EINTR) {
        error = 0;  // A signal interrupts the reservation of large segments.
    }
    if (error) {
        if (data) munmap(data, size);
        close(file);
        throw refuse(error);
    }
    use_huge_pages(data, size);
    const std::lock_guard lock(mutex_);
    auto* const segment = new Segment{file, made_++, data, static_cast<int64_t>(size)};
    return {segment, [](Segment* s) {
                munmap(s->data, static_cast<size_t>(s->bytes));
                close(s->file);
                delete s;
            }};
}

std::shared_ptr<void> HostMemory::allocate(int64_t bytes) {
    const std::shared_ptr<Segment> segment = make_segment(bytes);
    const std::lock_guard lock(mutex_);
    std::erase_if(segments_, [](const auto& entry) { return entry.second.expired(); });
    segments_[segment->data] = segment;
    return {segment, segment->data};
}

std::shared_ptr<HostMemory::Segment> HostMemory::segment_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    auto after = segments_.upper_bound(data);
    if (after == segments_.begin()) return nullptr;
    std::shared_ptr<Segment> segment = std::prev(after)->second.lock();
    const bool inside = segment && static_cast<const char*>(data) < segment->data + segment->bytes;
    return inside ? segment : nullptr;
}

bool HostMemory::holds(const void* data) const { return segment_of(data) != nullptr; }

std::optional<uint64_t> HostMemory::next() {
    if (in_use_[next_ % kSlots]) return {};
    in_use_[next_ % kSlots] = true;
    return next_++;
}

void HostMemory::release(uint64_t number) { in_use_[number % kSlots] = false; }

std::shared_ptr<void> HostMemory::tell(Offer& offer, uint64_t number, HeldRows rows) {
    const std::shared_ptr<Segment> segment = segment_of(rows.data);
    DBENCH_EXPECT(segment);
    offer.address = rows.data;
    offer.stride = rows.stride;
    offer.offset = rows.data - segment->data;
    offer.bytes = segment->bytes;
    offer.segment = segment->number;
    offer.file = segment->file;
    offer.number.store(number + 1, std::memory_order_release);
    return segment;
}

std::optional<HeldRows> HostMemory::told(int rank, uint64_t number, Offer& offer) {
    if (offer.number.load(std::memory_order_acquire) != number + 1) return {};
    return HeldRows{const_cast<char*>(peers_[rank]->address(offer)), offer.stride};
}

std::shared_ptr<void> HostMemory::offer(uint64_t number, HeldRows rows) {
    return tell(own_board().slot(number).rows, number, rows);
}

std::optional<HeldRows> HostMemory::rows_of(int rank, uint64_t number) {
    return told(rank, number, peers_[rank]->board->slot(number).rows);
}

std::shared_ptr<void> HostMemory::offer_means(uint64_t number, HeldRows means) {
    return tell(own_board().slot(number).means, number, means);
}

std::optional<HeldRows> HostMemory::means_of(int rank, uint64_t number) {
    return told(rank, number, peers_[rank]->board->slot(number).means);
}

HostMemory::Board& HostMemory::own_board() const { return *reinterpret_cast<Board*>(own_->data); }

void HostMemory::read(uint64_t number) {
    own_board().slot(number).read.store(number + 1, std::memory_order_release);
}

bool HostMemory::has_read(int rank, uint64_t number) const {
    return peers_[rank]->board->slot(number).read.load(std::memory_order_acquire) > number;
}

}  // namespace dbench::comm
