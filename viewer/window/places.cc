// Links of the window's log.
#include "viewer/window/places.h"

#include <utility>

namespace memprof::viewer {
namespace {

// The first problems of a link, of which a stranger's may have thousands.
QString ProblemLine(const QStringList& problems) {
  constexpr qsizetype kShown = 3;
  QStringList line = problems.mid(0, kShown);
  if (problems.size() > kShown) line << Places::tr("and %1 more").arg(problems.size() - kShown);
  return line.join(QStringLiteral("; "));
}

}  // namespace

Places::Places(Document* document, Selection* selection, QObject* parent)
    : QObject(parent), document_(document), selection_(selection) {
  connect(document, &Document::TimelinesReady, this, &Places::TimelinesReady);
}

void Places::Expect(const QString& fragment) {
  find_job_.Cancel();
  QStringList problems;
  expected_ = ParseLink(fragment, &problems);
  if (!problems.isEmpty()) emit Missed(ProblemLine(problems));
  if (!expected_.view.isEmpty()) emit ViewNamed(expected_.view);
}

void Places::TimelinesReady() {
  if (document_->grew() || expected_.empty()) return;
  Find(std::exchange(expected_, {}));
}

void Places::Go(const QString& fragment) {
  if (document_->session() == nullptr) return;
  QStringList problems;
  const Link link = ParseLink(fragment, &problems);
  if (!problems.isEmpty()) emit Missed(ProblemLine(problems));
  if (!link.view.isEmpty()) emit ViewNamed(link.view);
  Find(link);
}

LinkSession Places::Session() const {
  return {document_->session(), document_->symbols(), document_->timelines(), document_->bounds()};
}

void Places::Find(const Link& link) {
  find_job_.Start(
      [in = Session(), link, device = selection_->device()](const std::stop_token& stop) {
        return std::pair(in.session, FindTarget(in, link, device, stop));
      },
      [this, link](const std::pair<std::shared_ptr<const analysis::Session>, LinkTarget>& found) {
        // Another log may have been opened meanwhile; ids are those of the session.
        if (found.first == document_->session()) Arrive(link, found.second);
      });
}

void Places::Arrive(const Link& link, const LinkTarget& target) {
  if (link.axis) selection_->SetAxis(*link.axis);
  if (target.device) selection_->SetDevice(*target.device);
  selection_->SetFilter(target.filter.value_or(analysis::AllocationFilter()));
  selection_->SetWindow(target.window.value_or(selection_->bounds()));
  if (target.instant) selection_->SetInstant(*target.instant);
  selection_->SelectAllocation(target.allocation, target.site);
  if (!target.problems.isEmpty()) emit Missed(ProblemLine(target.problems));
}

QString Places::Here(const QString& view) const {
  if (document_->session() == nullptr) return {};
  Link link = LinkOf(Session(), StateOf(*selection_));
  link.view = view;
  return LinkText(link);
}

void Places::AskHere(const QString& view, std::function<void(const QString&)> then) {
  if (document_->session() == nullptr) return;
  here_job_.Start(
      [in = Session(), state = StateOf(*selection_), view](const std::stop_token&) {
        Link link = LinkOf(in, state);
        link.view = view;
        return LinkText(link);
      },
      [then = std::move(then)](const QString& fragment) { then(fragment); });
}

}  // namespace memprof::viewer
