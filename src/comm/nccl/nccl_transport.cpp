#include "comm/nccl/nccl_transport.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "comm/nccl/nccl_session.hpp"
#include "comm/world/run_together.hpp"

namespace dbench::comm {
namespace {

constexpr int kTags = 1 << 30;

class NcclTransfer : public Transfer {
public:
    NcclTransfer(std::shared_ptr<NcclSession> session, std::shared_ptr<NcclSession::Start> started)
        : session_(std::move(session)), started_(std::move(started)) {}
    bool test() override { return session_->test(*started_); }
    std::vector<int> awaited_ranks() const override { return session_->awaited_ranks(*started_); }

private:
    std::shared_ptr<NcclSession> session_;
    std::shared_ptr<NcclSession::Start> started_;
};

class NcclTransport : public RowTransport {
public:
    explicit NcclTransport(std::shared_ptr<NcclSession> session) : session_(std::move(session)) {}
    ~NcclTransport() override { session_->leave(); }

    int tags() const override { return kTags; }

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        for (const auto& messages : {out, in}) {
            for (const Message& message : messages) check_order(message.tag);
        }
        const NcclApi& nccl = session_->nccl();
        std::vector<NcclSession::Call> calls;
        std::set<int> ranks;
        const auto add = [&](const Message& message, const auto& call) {
            if (message.bytes == 0) return;
            ranks.insert(message.rank);
            calls.push_back([&call, &message, this] {
                return call(message.data, static_cast<size_t>(message.bytes), NcclType::int8,
                            message.rank, session_->communicator(), session_->stream());
            });
        };
        for (const Message& message : out) add(message, nccl.send);
        for (const Message& message : in) add(message, nccl.recv);
        return transfer(calls, {ranks.begin(), ranks.end()});
    }

    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        std::vector<NcclSession::Call> calls;
        if (count > 0) {
            calls.push_back([=, this] {
                return session_->nccl().all_reduce(
                    from, to, static_cast<size_t>(count),
                    type == arena::DType::float32 ? NcclType::float32 : NcclType::float64,
                    NcclSum::sum, session_->communicator(), session_->stream());
            });
        }
        return transfer(calls, {});
    }

    arena::Queue* queue() override { return session_->queue(); }
    void abandon() override { session_->abandon(); }

private:
    std::unique_ptr<Transfer> transfer(const std::vector<NcclSession::Call>& calls,
                                       std::vector<int> ranks) {
        return std::make_unique<NcclTransfer>(session_, session_->start(calls, std::move(ranks)));
    }

    // Checks that tags never decrease (modulo kTags): NCCL matches messages by their order, not by
    // tag.
    void check_order(int tag) {
        const std::lock_guard lock(mutex_);
        const int ahead = last_ ? (tag - *last_ + kTags) % kTags : 0;
        if (ahead >= kTags / 2) {
            throw base::RunError("rows of exchange " + std::to_string(tag) +
                                 " start after those of exchange " + std::to_string(*last_) +
                                 ", but NCCL needs one order on all ranks");
        }
        last_ = tag;
    }

    std::shared_ptr<NcclSession> session_;
    std::mutex mutex_;         // protects last_: any thread may start messages
    std::optional<int> last_;  // tag
};

std::string gpu_bus_id(const CudaApi& cuda, int device) {
    char id[32] = "";
    const CudaResult result = cuda.pci_bus_id(id, sizeof id, device);
    if (result != CudaResult::success) {
        throw base::UserError("device " + std::to_string(device) + " is not there (" +
                              cuda.error_string(result) +
                              "): give each rank a GPU (Slurm: --gpus-per-task=1)");
    }
    return id;
}

}  // namespace

void require_distinct_gpus(const std::vector<RankGpu>& gpus) {
    std::map<std::pair<std::string, std::string>, int> owners;
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
        const RankGpu& gpu = gpus[rank];
        const auto [owner, first] = owners.emplace(std::pair{gpu.host, gpu.id}, rank);
        if (first) continue;
        throw base::UserError("ranks " + std::to_string(owner->second) + " and " +
                              std::to_string(rank) + " both use GPU " + gpu.id + " of " + gpu.host +
                              " (NCCL connects GPUs, not processes or parts of GPUs): start one "
                              "rank a GPU, which may hold several replicas, or set DBENCH_NCCL=0, "
                              "so that rows travel over MPI");
    }
}

std::unique_ptr<RowTransport> join_nccl(World& world, NcclParts parts, int device) {
    const std::vector<std::string> hosts = world.all_gather(world.host());
    const std::vector<std::string> ids =
        world.all_gather(run_together(world, [&] { return gpu_bus_id(parts.cuda, device); }));
    std::vector<RankGpu> gpus;
    for (size_t rank = 0; rank < hosts.size(); ++rank) gpus.push_back({hosts[rank], ids[rank]});
    require_distinct_gpus(gpus);

    const auto session = run_together(
        world, [&] { return std::make_shared<NcclSession>(world, std::move(parts), device); });
    const NcclId mine =
        run_together(world, [&] { return world.rank() == 0 ? session->new_id() : NcclId{}; });
    std::string text(mine.bytes, sizeof mine.bytes);
    world.broadcast(text);
    NcclId id{};
    std::memcpy(id.bytes, text.data(), sizeof id.bytes);
    session->join(id);
    return std::make_unique<NcclTransport>(session);
}

}  // namespace dbench::comm
