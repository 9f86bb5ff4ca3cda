#include "comm/mpi_transport.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>

#include "base/error.hpp"

namespace dbench::comm {
namespace {

void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw base::RunError(std::string(call) + " failed (" + std::string(text, length) + ")");
}

// One lock around every call: MPI then need not be thread-safe, only indifferent to which thread
// calls (MPI_THREAD_SERIALIZED).
using Lock = std::timed_mutex;

class MpiTransfer : public Transfer {
public:
    explicit MpiTransfer(Lock& lock) : lock_(lock) {}

    /// Only after a failure is something left: what has not been matched shall not be written to
    /// memory that is no longer ours.
    ~MpiTransfer() override {
        if (left_ == 0) return;
        const std::lock_guard lock(lock_);
        for (size_t i = 0; i < receives_; ++i) {
            if (requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
        }
        for (MPI_Request& request : requests_) {
            if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
        }
    }

    MPI_Request* add_receive(int rank) {
        ++receives_;  // all receives come before the first send
        return add(rank);
    }

    MPI_Request* add(int rank) {
        ranks_.push_back(rank);
        ++left_;
        return &requests_.emplace_back(MPI_REQUEST_NULL);
    }

    void reserve(size_t count) {
        requests_.reserve(count);
        ranks_.reserve(count);
    }

    bool test() override {
        if (left_ == 0) return true;
        done_.resize(requests_.size());
        int count = 0;
        const std::lock_guard lock(lock_);
        check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                           done_.data(), MPI_STATUSES_IGNORE),
              "MPI_Testsome");
        left_ -= count == MPI_UNDEFINED ? left_ : static_cast<size_t>(count);
        return left_ == 0;
    }

    std::vector<int> owing() const override {
        std::set<int> ranks;
        for (size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] != MPI_REQUEST_NULL && ranks_[i] >= 0) ranks.insert(ranks_[i]);
        }
        return {ranks.begin(), ranks.end()};
    }

private:
    Lock& lock_;
    std::vector<MPI_Request> requests_;
    std::vector<int> ranks_;  // -1: all
    std::vector<int> done_;
    size_t receives_ = 0, left_ = 0;
};

class MpiTransport : public Transport {
public:
    MpiTransport(bool finalizes, int64_t piece) : finalizes_(finalizes), piece_(piece) {
        check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
        for (MPI_Comm& communicator : communicators_) {
            check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
            check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN),
                  "MPI_Comm_set_errhandler");
        }
        int found = 0;
        int* limit = nullptr;
        check(MPI_Comm_get_attr(communicators_[0], MPI_TAG_UB, &limit, &found),
              "MPI_Comm_get_attr");
        tags_ = found ? std::min(*limit, (1 << 30) - 1) + 1 : 32768;
    }

    ~MpiTransport() override {
        if (abandoned_) return;
        for (MPI_Comm& communicator : communicators_) MPI_Comm_free(&communicator);
        if (finalizes_) MPI_Finalize();
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    int tags() const override { return tags_; }

    std::unique_ptr<Transfer> start(Channel channel, std::span<const Message> out,
                                    std::span<const Message> in) override {
        auto transfer = std::make_unique<MpiTransfer>(lock_);
        size_t count = 0;
        for (const auto& messages : {in, out}) {
            for (const Message& message : messages) count += pieces(message);
        }
        transfer->reserve(count);
        const MPI_Comm communicator = communicators_[static_cast<size_t>(channel)];
        const std::lock_guard lock(lock_);
        for (const Message& message : in) {
            for_pieces(message, [&](char* data, int bytes) {
                check(MPI_Irecv(data, bytes, MPI_BYTE, message.rank, message.tag, communicator,
                                transfer->add_receive(message.rank)),
                      "MPI_Irecv");
            });
        }
        for (const Message& message : out) {
            for_pieces(message, [&](char* data, int bytes) {
                check(MPI_Isend(data, bytes, MPI_BYTE, message.rank, message.tag, communicator,
                                transfer->add(message.rank)),
                      "MPI_Isend");
            });
        }
        return transfer;
    }

    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        constexpr int64_t kMost = int64_t{1} << 28;
        const MPI_Datatype datatype = type == arena::DType::float32 ? MPI_FLOAT : MPI_DOUBLE;
        const int64_t size = arena::size_of(type);
        auto transfer = std::make_unique<MpiTransfer>(lock_);
        transfer->reserve(static_cast<size_t>((count + kMost - 1) / kMost));
        const std::lock_guard lock(lock_);
        for (int64_t first = 0; first < count; first += kMost) {
            check(MPI_Iallreduce(static_cast<const char*>(from) + first * size,
                                 static_cast<char*>(to) + first * size,
                                 static_cast<int>(std::min(kMost, count - first)), datatype,
                                 MPI_SUM, communicators_[0], transfer->add(-1)),
                  "MPI_Iallreduce");
        }
        return transfer;
    }

    std::optional<Letter> letter() override {
        const MPI_Comm communicator = communicators_[static_cast<size_t>(Channel::failure)];
        const std::lock_guard lock(lock_);
        int flag = 0, bytes = 0;
        MPI_Status status;
        check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &flag, &status), "MPI_Iprobe");
        if (!flag) return {};
        check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
        Letter letter{status.MPI_SOURCE, std::string(static_cast<size_t>(bytes), '\0')};
        check(MPI_Recv(letter.text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                       communicator, MPI_STATUS_IGNORE),
              "MPI_Recv");
        return letter;
    }

    void abandon() override { abandoned_ = true; }

    void abort(int status) override {
        std::fflush(nullptr);
        // A thread that died or hangs inside MPI must not keep the job alive.
        const bool locked = lock_.try_lock_for(std::chrono::seconds(1));
        MPI_Abort(MPI_COMM_WORLD, status);
        if (locked) lock_.unlock();
        _exit(status);
    }

private:
    size_t pieces(const Message& message) const {
        return static_cast<size_t>(std::max<int64_t>(1, (message.bytes + piece_ - 1) / piece_));
    }

    template <class Work>
    void for_pieces(const Message& message, Work&& work) const {
        char* const data = static_cast<char*>(message.data);
        int64_t first = 0;
        do {  // once for an empty message
            const int64_t bytes = std::min(piece_, message.bytes - first);
            work(data + first, static_cast<int>(bytes));
            first += piece_;
        } while (first < message.bytes);
    }

    bool finalizes_;
    int64_t piece_;
    bool abandoned_ = false;
    int rank_ = 0, size_ = 1, tags_ = 0;
    std::array<MPI_Comm, kChannels> communicators_{};
    Lock lock_;
};

}  // namespace

MpiMembership join_mpi(int64_t piece) {
    int started = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&started);
    if (started) {
        MPI_Query_thread(&level);
    } else {
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    }
    if (level < MPI_THREAD_SERIALIZED) {
        if (!started) MPI_Finalize();
        throw base::UserError(
            "MPI lets only the main thread communicate (it provides less than "
            "MPI_THREAD_SERIALIZED): use an MPI library built with thread support");
    }
    MpiMembership member;
    member.transport = std::make_unique<MpiTransport>(!started, piece);

    MPI_Comm here = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(here, &member.local_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(here, &member.local_size), "MPI_Comm_size");
    check(MPI_Comm_free(&here), "MPI_Comm_free");

    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    member.host.assign(name, static_cast<size_t>(length));
    return member;
}

}  // namespace dbench::comm
