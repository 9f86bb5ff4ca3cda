#include "comm/transport/mpi_transports.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "comm/transport/call_watch.hpp"
#include "comm/versions.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw base::RunError(std::string(call) + " failed (" + std::string(text, length) + ")");
}

/// One lock around every call: MPI then need not be thread-safe; it must only accept calls from any
/// thread (MPI_THREAD_SERIALIZED).
using Lock = std::timed_mutex;

/// The requests of one start.
class MpiTransfer : public Transfer {
public:
    explicit MpiTransfer(Lock& lock) : lock_(lock) {}

    // Requests are left only after a failure. Cancels unmatched receives, so that MPI does not
    // write into memory that is freed.
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

    std::vector<int> awaited_ranks() const override {
        std::set<int> ranks;
        for (size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] != MPI_REQUEST_NULL && ranks_[i] >= 0) ranks.insert(ranks_[i]);
        }
        return {ranks.begin(), ranks.end()};
    }

private:
    Lock& lock_;
    std::vector<MPI_Request> requests_;
    std::vector<int> ranks_;  // -1: all ranks
    std::vector<int> done_;
    size_t receives_ = 0, left_ = 0;
};

/// MPI while this rank uses it: the communicators and the lock, which both transports share.
class MpiSession {
public:
    MpiSession(bool finalizes, CallWatch& watch) : finalizes_(finalizes) {
        for (MPI_Comm& communicator : communicators_) {
            watch.next("MPI_Comm_dup");
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

    ~MpiSession() {
        if (abandoned_) return;
        CallWatch watch("the end", timeout());
        watch.next("MPI_Comm_free");
        for (MPI_Comm& communicator : communicators_) MPI_Comm_free(&communicator);
        watch.next("MPI_Finalize");
        if (finalizes_) MPI_Finalize();
    }

    MPI_Comm rows() const { return communicators_[0]; }
    MPI_Comm control() const { return communicators_[1]; }
    MPI_Comm control_messages() const { return communicators_[2]; }
    int tags() const { return tags_; }
    Lock& lock() { return lock_; }
    void abandon() { abandoned_ = true; }

private:
    bool finalizes_;
    std::atomic<bool> abandoned_ = false;
    int tags_ = 0;
    std::array<MPI_Comm, 3> communicators_{};
    Lock lock_;
};

/// Sends and receives messages on one communicator, in pieces.
class MpiMessages {
public:
    MpiMessages(std::shared_ptr<MpiSession> session, MPI_Comm communicator, int64_t piece)
        : session_(std::move(session)), communicator_(communicator), piece_(piece) {}

    MpiSession& session() const { return *session_; }

    std::unique_ptr<Transfer> start(std::span<const Message> out, std::span<const Message> in) {
        auto transfer = std::make_unique<MpiTransfer>(session_->lock());
        size_t count = 0;
        for (const auto& messages : {in, out}) {
            for (const Message& message : messages) count += pieces(message);
        }
        transfer->reserve(count);
        const std::lock_guard lock(session_->lock());
        for (const Message& message : in) {
            for_pieces(message, [&](char* data, int bytes) {
                check(MPI_Irecv(data, bytes, MPI_BYTE, message.rank, message.tag, communicator_,
                                transfer->add_receive(message.rank)),
                      "MPI_Irecv");
            });
        }
        for (const Message& message : out) {
            for_pieces(message, [&](char* data, int bytes) {
                check(MPI_Isend(data, bytes, MPI_BYTE, message.rank, message.tag, communicator_,
                                transfer->add(message.rank)),
                      "MPI_Isend");
            });
        }
        return transfer;
    }

private:
    size_t pieces(const Message& message) const {
        return static_cast<size_t>(std::max<int64_t>(1, (message.bytes + piece_ - 1) / piece_));
    }

    template <class Work>
    void for_pieces(const Message& message, Work&& work) const {
        char* const data = static_cast<char*>(message.data);
        int64_t first = 0;
        do {  // runs once for an empty message
            const int64_t bytes = std::min(piece_, message.bytes - first);
            work(data + first, static_cast<int>(bytes));
            first += piece_;
        } while (first < message.bytes);
    }

    std::shared_ptr<MpiSession> session_;
    MPI_Comm communicator_;
    int64_t piece_;
};

/// The part that both MPI transports share.
template <class Kind>
class MpiTransport : public Kind {
public:
    explicit MpiTransport(MpiMessages messages) : messages_(std::move(messages)) {}

    int tags() const override { return session().tags(); }
    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        return messages_.start(out, in);
    }
    void abandon() override { session().abandon(); }

protected:
    MpiSession& session() const { return messages_.session(); }

private:
    MpiMessages messages_;
};

class MpiRows : public MpiTransport<RowTransport> {
public:
    using MpiTransport::MpiTransport;

    bool reads_devices() override { return mpi_reads_gpu_memory(); }

    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        constexpr int64_t kMost = int64_t{1} << 28;
        const MPI_Datatype datatype = type == arena::DType::float32 ? MPI_FLOAT : MPI_DOUBLE;
        const int64_t size = arena::size_of(type);
        auto transfer = std::make_unique<MpiTransfer>(session().lock());
        transfer->reserve(static_cast<size_t>((count + kMost - 1) / kMost));
        const std::lock_guard lock(session().lock());
        for (int64_t first = 0; first < count; first += kMost) {
            check(MPI_Iallreduce(static_cast<const char*>(from) + first * size,
                                 static_cast<char*>(to) + first * size,
                                 static_cast<int>(std::min(kMost, count - first)), datatype,
                                 MPI_SUM, session().rows(), transfer->add(-1)),
                  "MPI_Iallreduce");
        }
        return transfer;
    }
};

class MpiControl : public MpiTransport<ControlTransport> {
public:
    using MpiTransport::MpiTransport;

    std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) override {
        auto transfer = std::make_unique<MpiTransfer>(session().lock());
        transfer->reserve(1);
        const std::lock_guard lock(session().lock());
        check(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, 0,
                        session().control_messages(), transfer->add(to)),
              "MPI_Isend");
        return transfer;
    }

    std::optional<ControlMessage> take_control_message() override {
        const std::lock_guard lock(session().lock());
        int flag = 0, bytes = 0;
        MPI_Status status;
        check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, session().control_messages(), &flag, &status),
              "MPI_Iprobe");
        if (!flag) return {};
        check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
        ControlMessage message{status.MPI_SOURCE, std::string(static_cast<size_t>(bytes), '\0')};
        check(MPI_Recv(message.text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                       session().control_messages(), MPI_STATUS_IGNORE),
              "MPI_Recv");
        return message;
    }

    void abort(int status) override {
        std::fflush(nullptr);
        // A thread that died or hangs inside MPI must not keep the job alive, so this does not wait
        // for the lock for long.
        const bool locked = session().lock().try_lock_for(std::chrono::seconds(1));
        MPI_Abort(MPI_COMM_WORLD, status);
        if (locked) session().lock().unlock();
        _exit(status);
    }
};

/// Makes Open MPI's TCP links full duplex. By default Open MPI answers the rendezvous of a large
/// message on the socket that carries bulk data the other way, and the receiver's `put` fetches a
/// message as a whole: two ranks that send to each other then take turns, and a link carries one
/// direction at a time. Without `put`, messages are sent in fragments, and answers pass between
/// them. A value that the user has set is not modified. Other MPI libraries ignore this variable.
void make_tcp_full_duplex() {
    constexpr int kKeep = 0;
    setenv("OMPI_MCA_btl_tcp_flags", "send,inplace,need-ack,need-csum,hetero-rdma", kKeep);
}

/// Lets Open MPI's TCP links use the loopback interface if all ranks are on one host. Open MPI 5
/// otherwise prints "Unable to find reachable pairing between local and remote interfaces" for
/// every pair of ranks on machines whose interfaces it cannot pair, although shared memory carries
/// the messages. A choice of links or interfaces that the user has made is not modified.
void use_loopback_on_one_host() {
    constexpr int kKeep = 0;
    const char* const all = std::getenv("OMPI_COMM_WORLD_SIZE");
    const char* const here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!all || !here || std::string_view(all) != here) return;
    for (const char* chosen : {"OMPI_MCA_btl", "OMPI_MCA_btl_tcp_if_exclude"}) {
        if (std::getenv(chosen)) return;
    }
    setenv("OMPI_MCA_btl_tcp_if_include", "lo", kKeep);
}

/// Makes Open MPI sum large rows in a ring on two or three ranks, too. Open MPI uses a ring from
/// four ranks on; with fewer, ranks send whole rows to one of them and back (libnbc 4.1 and 5.0),
/// which takes 1.9 and 2.6 times as long as a link needs. A value that the user has set is not
/// modified.
void sum_in_ring_on_few_ranks() {
    constexpr int kKeep = 0;
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* const ranks = std::getenv(name);
        if (!ranks) continue;
        if (const int count = std::atoi(ranks); count == 2 || count == 3) {
            setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "1", kKeep);
        }
        return;
    }
}

constexpr int kNotLeaving = -1;
int leaving = kNotLeaving;  // the status with which the process leaves
bool leaves_by_exit = false;

/// Registers an exit handler that ends the process. Handlers run in reverse order: those that MPI
/// registers later run first, those that were registered before do not run.
void skip_older_exit_handlers() {
    leaves_by_exit = std::atexit([] {
                         if (leaving != kNotLeaving) std::_Exit(leaving);
                     }) == 0;
}

}  // namespace

void leave_mpi(int status) {
    int ended = 0;
    if (leaves_by_exit) MPI_Finalized(&ended);
    if (!ended) return;
    leaving = status;
    std::exit(status);
}

Membership join_mpi(int64_t piece) {
    CallWatch watch("the start", timeout());
    int started = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&started);
    if (started) {
        MPI_Query_thread(&level);
    } else {
        make_tcp_full_duplex();
        sum_in_ring_on_few_ranks();
        use_loopback_on_one_host();
        skip_older_exit_handlers();
        watch.next("MPI_Init_thread");
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    }
    if (level < MPI_THREAD_SERIALIZED) {
        if (!started) MPI_Finalize();
        throw base::UserError(
            "MPI lets only the main thread communicate (it provides less than "
            "MPI_THREAD_SERIALIZED): use an MPI library built with thread support");
    }
    const auto session = std::make_shared<MpiSession>(!started, watch);
    Membership member;
    member.control = std::make_unique<MpiControl>(MpiMessages(session, session->control(), piece));
    member.rows = std::make_unique<MpiRows>(MpiMessages(session, session->rows(), piece));
    check(MPI_Comm_rank(MPI_COMM_WORLD, &member.rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &member.size), "MPI_Comm_size");

    MPI_Comm here = MPI_COMM_NULL;
    watch.next("MPI_Comm_split_type");
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
