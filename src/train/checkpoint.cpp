#include "train/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"

namespace dbench::train {
namespace fs = std::filesystem;
namespace {

using base::Json;
using base::RunError;

constexpr int64_t kVersion = 1;
constexpr char kMagic[8] = {'D', 'B', 'C', 'K', 'P', 'T', '0', '1'};

uint32_t checksum(const void* data, size_t bytes) {
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw RunError("the checkpoint " + path + " cannot be " + what + ": " + std::strerror(errno));
}

/// A file that is written from front to back and brought to the disk.
class Writing {
public:
    explicit Writing(std::string path) : path_(std::move(path)) {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (descriptor_ < 0) fail(path_, "made");
    }
    ~Writing() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Writing(const Writing&) = delete;
    void add(const void* data, size_t bytes) {
        const char* at = static_cast<const char*>(data);
        while (bytes > 0) {
            const ssize_t some = ::write(descriptor_, at, std::min<size_t>(bytes, 1 << 28));
            if (some < 0 && errno == EINTR) continue;
            if (some < 0) fail(path_, "written");
            at += some;
            bytes -= static_cast<size_t>(some);
        }
    }
    void finish() {
        if (fsync(descriptor_) != 0) fail(path_, "brought to the disk");
        if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, "closed");
    }

private:
    std::string path_;
    int descriptor_ = -1;
};

void sync_folder(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // some file systems have no such thing
    fsync(descriptor);
    ::close(descriptor);
}

std::string part_name(int64_t rank) { return "part-" + std::to_string(rank) + ".bin"; }

const char* data_of(const arena::StateTable::Entry& entry) {
    return static_cast<const char*>(entry.data ? entry.data : entry.buffer.rows().data);
}

size_t row_bytes(const arena::StateTable::Entry& entry) {
    const arena::Rows rows = entry.buffer.rows();
    return static_cast<size_t>(rows.stride * arena::size_of(rows.type));
}

/// Magic, length and checksum of the head, head (JSON: entries with a checksum per row), data.
void write_part(const std::string& path, int64_t first, int64_t count,
                const arena::StateTable& state) {
    Json head{{"first", first}, {"count", count}, {"entries", Json::array()}};
    for (const auto& entry : state.entries()) {
        const size_t rows = entry.data ? 1 : static_cast<size_t>(count);
        const size_t bytes = entry.data ? entry.size : row_bytes(entry);
        Json sums = Json::array();
        for (size_t i = 0; i < rows; ++i)
            sums.push_back(checksum(data_of(entry) + i * bytes, bytes));
        head["entries"].push_back({{"name", entry.name},
                                   {"shared", entry.data != nullptr},
                                   {"bytes", bytes},
                                   {"checksums", std::move(sums)}});
    }
    const std::string text = head.dump();
    const uint64_t length = text.size();
    const uint32_t sum = checksum(text.data(), text.size());
    Writing file(path);
    file.add(kMagic, sizeof kMagic);
    file.add(&length, sizeof length);
    file.add(&sum, sizeof sum);
    file.add(text.data(), text.size());
    for (const auto& entry : state.entries()) file.add(data_of(entry), entry.size);
    file.finish();
}

/// A part's head, checked, and where its data begin.
class Part {
public:
    explicit Part(const std::string& path) : path_(path), file_(path, std::ios::binary) {
        char magic[sizeof kMagic] = {};
        uint64_t length = 0;
        uint32_t sum = 0;
        file_.read(magic, sizeof magic);
        file_.read(reinterpret_cast<char*>(&length), sizeof length);
        file_.read(reinterpret_cast<char*>(&sum), sizeof sum);
        if (!file_ || std::memcmp(magic, kMagic, sizeof magic) != 0 || length > (1u << 30)) {
            throw RunError(path_ + " is missing, or is no part of a checkpoint");
        }
        std::string text(length, '\0');
        file_.read(text.data(), static_cast<std::streamsize>(length));
        if (!file_ || checksum(text.data(), text.size()) != sum)
            throw RunError(path_ + " is damaged");
        head_ = Json::parse(text);
        begin_ = static_cast<int64_t>(sizeof kMagic + sizeof length + sizeof sum + length);
    }

    int64_t first() const { return head_.at("first"); }
    int64_t count() const { return head_.at("count"); }
    const Json& entries() const { return head_.at("entries"); }

    /// Calls take(entry's head, replica, bytes) for the rows of replicas in [begin, end) and for
    /// what replicas share (replica -1), after their checksums were compared.
    template <class Take>
    void rows(int64_t begin, int64_t end, const Take& take) {
        int64_t at = begin_;
        std::string bytes;
        for (const Json& entry : entries()) {
            const auto size = entry.at("bytes").get<int64_t>();
            const bool shared = entry.at("shared");
            const int64_t many = shared ? 1 : count();
            for (int64_t i = 0; i < many; ++i, at += size) {
                const int64_t replica = shared ? -1 : first() + i;
                if (!shared && (replica < begin || replica >= end)) continue;
                bytes.resize(static_cast<size_t>(size));
                file_.seekg(at);
                file_.read(bytes.data(), size);
                const auto expected = entry.at("checksums").at(static_cast<size_t>(i));
                if (!file_ || checksum(bytes.data(), bytes.size()) != expected.get<uint32_t>()) {
                    throw RunError(path_ + " is damaged (" + entry.at("name").get<std::string>() +
                                   ")");
                }
                take(entry, replica, bytes);
            }
        }
    }

private:
    std::string path_;
    std::ifstream file_;
    Json head_;
    int64_t begin_ = 0;
};

}  // namespace

struct Checkpoints::Manifest {
    CheckpointHead head;
    int64_t replicas = 0, ranks = 0;

    std::string text() const {
        const Json json{{"version", kVersion},  {"iteration", head.iteration},
                        {"replicas", replicas}, {"ranks", ranks},
                        {"spec", head.spec},    {"controller", head.controller}};
        const std::string inside = json.dump();
        return Json{{"manifest", inside}, {"checksum", checksum(inside.data(), inside.size())}}
            .dump();
    }
    static Manifest parse(const std::string& text) {
        const Json outside = Json::parse(text);
        const std::string inside = outside.at("manifest");
        if (checksum(inside.data(), inside.size()) != outside.at("checksum").get<uint32_t>()) {
            throw RunError("its manifest is damaged");
        }
        const Json json = Json::parse(inside);
        if (json.at("version") != kVersion) throw RunError("it is of another version of dbench");
        Manifest m;
        m.head = {json.at("iteration"), json.at("spec"), json.at("controller")};
        m.replicas = json.at("replicas");
        m.ranks = json.at("ranks");
        return m;
    }
};

Checkpoints::Checkpoints(comm::World& world, const comm::Placement& placement, std::string folder,
                         int64_t keep)
    : world_(world), placement_(placement), folder_(std::move(folder)), keep_(keep) {}

std::string Checkpoints::path_of(int64_t iteration) const {
    return (fs::path(folder_) / std::to_string(iteration)).string();
}

std::vector<int64_t> Checkpoints::generations() const {
    std::vector<int64_t> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
        const std::string name = entry.path().filename().string();
        const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
        if (number && name.size() < 19) found.push_back(std::stoll(name));
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

/// Later ones, damaged and passed over when the run went on, would else outlive the one written.
void Checkpoints::remove_others(int64_t written) const {
    std::error_code ignored;
    int64_t kept = 0;
    for (const int64_t iteration : generations()) {
        if (iteration <= written && kept++ < keep_) continue;
        fs::remove_all(path_of(iteration), ignored);
    }
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
        if (entry.path().extension() == ".partial") fs::remove_all(entry.path(), ignored);
    }
}

void Checkpoints::write(const CheckpointHead& head, const arena::StateTable& state) {
    const std::string place = path_of(head.iteration), partial = place + ".partial";
    const auto everywhere = [&](const auto& work) {
        std::string problem;
        try {
            work();
        } catch (const std::exception& error) {
            problem = error.what();
        }
        world_.agree(problem, false);
    };
    try {
        everywhere([&] {
            if (world_.rank() != 0) return;
            std::error_code error;
            fs::remove_all(partial, error);
            fs::create_directories(partial, error);
            if (error) throw RunError("the checkpoint " + partial + ": " + error.message());
        });
        everywhere([&] {
            const int rank = world_.rank();
            write_part((fs::path(partial) / part_name(rank)).string(), placement_.begin(rank),
                       placement_.count(rank), state);
        });
        everywhere([&] {
            if (world_.rank() != 0) return;
            Manifest manifest;
            manifest.head = head;
            manifest.replicas = placement_.replicas;
            manifest.ranks = world_.size();
            const std::string text = manifest.text();
            Writing file((fs::path(partial) / "manifest.json").string());
            file.add(text.data(), text.size());
            file.finish();
            sync_folder(partial);
            std::error_code error;
            fs::remove_all(place, error);  // the same iteration, of a run that was resumed
            fs::rename(partial, place, error);
            if (error) throw RunError("the checkpoint " + place + ": " + error.message());
            sync_folder(folder_);
            remove_others(head.iteration);
        });
    } catch (...) {
        std::error_code ignored;
        if (world_.rank() == 0) fs::remove_all(partial, ignored);
        throw;
    }
}

/// Returns why the manifest cannot be used; "" where it can.
std::string Checkpoints::try_manifest(int64_t iteration, Manifest& manifest) const {
    try {
        const std::string path = (fs::path(path_of(iteration)) / "manifest.json").string();
        std::ifstream file(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!file) return "it has no manifest";
        manifest = Manifest::parse(text);
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// Reads all rows that this rank needs; returns what is wrong with them.
std::string Checkpoints::check_parts(const Manifest& manifest) const {
    try {
        const int64_t begin = placement_.begin(world_.rank());
        const int64_t end = placement_.begin(world_.rank() + 1);
        int64_t seen = 0;
        const comm::Placement then{manifest.replicas, static_cast<int>(manifest.ranks)};
        for (int rank = 0; rank < then.ranks; ++rank) {
            if (then.begin(rank + 1) <= begin || then.begin(rank) >= end) continue;
            Part part((fs::path(path_of(manifest.head.iteration)) / part_name(rank)).string());
            part.rows(begin, end, [&](const Json& entry, int64_t replica, const std::string&) {
                seen += replica >= 0 && entry.at("name") == "parameters";
            });
        }
        return seen == end - begin ? "" : "replicas are missing";
    } catch (const std::exception& error) {
        return error.what();
    }
}

std::optional<CheckpointHead> Checkpoints::newest() {
    std::string list = Json(generations()).dump();  // rank 0's: all are to try the same
    world_.broadcast(list);
    const auto found = Json::parse(list).get<std::vector<int64_t>>();
    for (const int64_t iteration : found) {
        Manifest manifest;
        std::string problem = try_manifest(iteration, manifest);
        const bool others = problem.empty() && manifest.replicas != placement_.replicas;
        world_.agree(!others
                         ? ""
                         : path_of(iteration) + " is of " + std::to_string(manifest.replicas) +
                               " replicas, the spec has " + std::to_string(placement_.replicas) +
                               ": a run goes on with the same replicas (ranks may change); "
                               "set /replicas back, or begin anew with --overwrite",
                     true);
        if (problem.empty()) problem = check_parts(manifest);
        std::vector<double> damaged{problem.empty() ? 0.0 : 1.0};
        world_.sum(damaged);
        if (damaged[0] == 0) return manifest.head;
        if (problem.empty()) problem = "another rank found it damaged";
        base::warn("the checkpoint " + path_of(iteration) + " is passed over: " + problem);
    }
    world_.agree(found.empty() ? ""
                               : "--resume: no checkpoint in " + folder_ +
                                     " is whole: put a copy back, or begin anew with --overwrite",
                 true);
    return std::nullopt;
}

void Checkpoints::read(int64_t iteration, arena::StateTable& state) {
    std::string problem;
    try {
        Manifest manifest;
        if (problem = try_manifest(iteration, manifest); !problem.empty()) throw RunError(problem);
        const int64_t begin = placement_.begin(world_.rank());
        const int64_t end = placement_.begin(world_.rank() + 1);
        const comm::Placement then{manifest.replicas, static_cast<int>(manifest.ranks)};
        int64_t taken = 0, needed = 0;
        for (const auto& entry : state.entries()) needed += entry.data ? 0 : end - begin;
        for (int rank = 0; rank < then.ranks; ++rank) {
            if (then.begin(rank + 1) <= begin || then.begin(rank) >= end) continue;
            Part part((fs::path(path_of(iteration)) / part_name(rank)).string());
            part.rows(begin, end, [&](const Json& head, int64_t replica, const std::string& bytes) {
                for (const auto& entry : state.entries()) {
                    if (entry.name != head.at("name")) continue;
                    const size_t size = entry.data ? entry.size : row_bytes(entry);
                    if (size != bytes.size()) throw RunError(entry.name + " has another size");
                    const int64_t row = entry.data ? 0 : replica - begin;
                    auto* to = const_cast<char*>(data_of(entry)) + static_cast<size_t>(row) * size;
                    std::memcpy(to, bytes.data(), size);
                    taken += entry.data ? 0 : 1;
                    return;
                }
                throw RunError("the run has no state '" + head.at("name").get<std::string>() + "'");
            });
        }
        if (taken != needed) throw RunError("it does not hold all state of the run");
    } catch (const std::exception& error) {
        problem = "the checkpoint " + path_of(iteration) + ": " + error.what();
    }
    world_.agree(problem, false);
}

void Checkpoints::clear() {
    std::error_code ignored;
    if (world_.rank() == 0) fs::remove_all(folder_, ignored);
    world_.barrier();
}

}  // namespace dbench::train
