// A source file with the memory of each of its lines.
#include "viewer/views/source_pane.h"

#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QScrollBar>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "analysis/base/status_text.h"
#include "analysis/symbols/kept_sources.h"
#include "viewer/geometry/units.h"
#include "viewer/models/source_maps.h"
#include "viewer/views/add_action.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/frame_actions.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr int kLeastLines = 5;  // of the narrow form

struct Question {
  std::shared_ptr<const analysis::Session> session;
  std::shared_ptr<analysis::Symbols> symbols;
  analysis::LineQuery query;
  analysis::SourcePlaces places;  // without what is kept
  std::string file;
  std::shared_ptr<const analysis::SourceText> text;  // null: to be read
};

SourcePicture MakePicture(const Question& question) {
  SourcePicture picture{question.file, question.text, {}, {}};
  const auto stacks = analysis::BytesByStack(*question.session, question.query);
  picture.lines =
      analysis::LinesOfFile(*question.session, *question.symbols, stacks, question.file);
  if (picture.text != nullptr) return picture;
  const int last = picture.lines.empty() ? 0 : picture.lines.back().line;
  analysis::SourcePlaces places = question.places;
  places.kept = analysis::KeptSourcesOf(*question.session);
  auto text = analysis::ReadSource(question.file, places, last);
  if (text.ok())
    picture.text = std::make_shared<const analysis::SourceText>(*std::move(text));
  else
    picture.missing = ToQString(analysis::StatusText(text.status()));
  return picture;
}

// Rows as close as lines of code are; the number in grey, the chosen frame's line tinted.
class LineDelegate : public BarDelegate {
 public:
  LineDelegate(const SourceModel* model, QObject* parent)
      : BarDelegate(SourceModel::kShareRole, parent), model_(model) {}

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return {QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() + 2};
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    BarDelegate::initStyleOption(option, index);
    const Theme theme = Theme::From(option->palette);
    if (index.column() == SourceModel::kLine) option->palette.setColor(QPalette::Text, theme.muted);
    if (model_->LineOf(index.row()) != model_->marked() || index.column() < SourceModel::kLine)
      return;
    QColor tint = theme.warning;
    tint.setAlpha(40);
    option->backgroundBrush = tint;
  }

 private:
  const SourceModel* const model_;
};

}  // namespace

SourcePane::SourcePane(Document* document, Selection* selection, Columns columns, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection), columns_(columns) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, narrow() ? 0 : kSpace, 0, 0);
  column->setSpacing(kSpace / 2);
  column->addWidget(BuildBar());
  note_ = new RichLabel(this);
  column->addWidget(note_);
  BuildTable();
  column->addWidget(table_, 1);
  Connect();
  Show({});
}

QWidget* SourcePane::BuildBar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  title_ = new RichLabel(bar);
  connect(title_, &RichLabel::linkActivated, this, &SourcePane::TakeLink);
  row->addWidget(title_, 1);
  measure_ = new QComboBox(bar);
  measure_->setAccessibleName(tr("What counts for a line"));
  measure_->addItems(
      {tr("Self: allocated at the line"), tr("Inclusive: the line is on the stack")});
  measure_->setItemData(0, tr("Allocations whose call site is the line"), Qt::ToolTipRole);
  measure_->setItemData(1, tr("Allocations with the line anywhere on the call stack, each once"),
                        Qt::ToolTipRole);
  measure_->setVisible(!narrow());
  connect(measure_, &QComboBox::currentIndexChanged, this, [this](int index) {
    model_->SetInclusive(index == 1);
    ShowTitle();
    FitColumns();
  });
  row->addWidget(measure_);
  return bar;
}

void SourcePane::BuildTable() {
  model_ = new SourceModel(this);
  table_ = new QTreeView(this);
  table_->setModel(model_);
  table_->setAccessibleName(tr("Source"));
  SetUpTable(table_);
  table_->setRootIsDecorated(false);
  table_->setAlternatingRowColors(false);
  table_->setTextElideMode(Qt::ElideRight);
  table_->setItemDelegate(new LineDelegate(model_, table_));
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  QHeaderView* header = table_->header();
  header->setSectionResizeMode(QHeaderView::Interactive);
  header->setMinimumSectionSize(kSpace);
  if (narrow()) {
    header->hide();
    table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table_->setMinimumHeight(kLeastLines * (QFontMetrics(CodeFont()).height() + 2));
  }
  QAction* copy = AddAction(table_, tr("&Copy line"), QKeySequence::Copy, this, [this] {
    QGuiApplication::clipboard()->setText(
        table_->currentIndex().siblingAtColumn(SourceModel::kText).data().toString());
  });
  copy->setShortcutContext(Qt::WidgetShortcut);
  QAction* next = AddAction(table_, tr("&Select its call site"), Qt::Key_Space, this,
                            [this] { Click(table_->currentIndex()); });
  next->setShortcutContext(Qt::WidgetShortcut);
}

void SourcePane::Connect() {
  connect(table_, &QTreeView::clicked, this, &SourcePane::Click);
  connect(table_, &QTreeView::activated, this, &SourcePane::Open);
  connect(table_, &QTreeView::customContextMenuRequested, this, &SourcePane::Menu);
  connect(note_, &RichLabel::linkActivated, this, &SourcePane::Locate);
  connect(document_, &Document::StateChanged, this, [this] {
    text_ = nullptr;
    Ask();
  });
  connect(document_, &Document::TimelinesReady, this, &SourcePane::Ask);
  connect(document_, &Document::PassingChanged, this, &SourcePane::Ask);
  connect(selection_, &Selection::InstantChanged, this, &SourcePane::Ask);
  connect(selection_, &Selection::DeviceChanged, this, &SourcePane::Ask);
}

QString SourcePane::Note() const { return note_->PlainText(); }

void SourcePane::ShowFile(const std::string& file, int line) {
  scroll_ = true;
  model_->SetMarked(line);
  if (file != std::exchange(file_, file)) {
    text_ = nullptr;
    if (!file.empty()) Ask();
  } else {
    ScrollToMarked();
  }
  if (file.empty()) {
    job_.Cancel();
    Show({});
  }
}

void SourcePane::ShowStack(const std::vector<analysis::SourceFrame>& frames,
                           const analysis::SourceFrame& site) {
  const int clicked = std::exchange(clicked_, 0);
  for (const analysis::SourceFrame& frame : frames) {
    if (clicked == 0 || frame.line != clicked || frame.file != file_) continue;
    model_->SetMarked(clicked);
    return;
  }
  ShowFile(site.line > 0 ? site.file : std::string(), site.line);
}

analysis::LineQuery SourcePane::Query() const {
  const TimelineBands* bands = document_->bands(selection_->device());
  return {selection_->device(), selection_->instant(),
          bands == nullptr ? selection_->instant() : bands->in_use.time_of_max(),
          document_->passing()};
}

void SourcePane::Ask() {
  if (document_->session() == nullptr || file_.empty()) {
    job_.Cancel();
    Show({});
    return;
  }
  stale_ = !isVisible();
  if (stale_) return;
  const Question question{document_->session(),
                          document_->symbols(),
                          Query(),
                          PlacesOf(*document_->session()),
                          file_,
                          text_};
  job_.Start([question](std::stop_token) { return MakePicture(question); },
             [this](SourcePicture picture) { Show(std::move(picture)); });
}

void SourcePane::Show(SourcePicture picture) {
  const bool same = picture.file == model_->picture().file && picture.text != nullptr &&
                    picture.text == model_->picture().text;
  const QPoint place(table_->horizontalScrollBar()->value(), table_->verticalScrollBar()->value());
  const int current = table_->currentIndex().row();
  text_ = picture.text;
  model_->SetPicture(std::move(picture));
  ShowTitle();
  ShowNote();
  FitColumns();
  table_->setVisible(model_->rowCount() > 0);
  if (same) {  // other figures: nothing moves
    if (current >= 0)
      table_->selectionModel()->setCurrentIndex(model_->index(current, 0),
                                                QItemSelectionModel::NoUpdate);
    table_->horizontalScrollBar()->setValue(place.x());
    table_->verticalScrollBar()->setValue(place.y());
  }
  ScrollToMarked();
}

// In the narrow form, the words after the name are the choices: a click takes the next.
void SourcePane::ShowTitle() {
  const SourcePicture& picture = model_->picture();
  const Theme theme = Theme::From(palette());
  const QString file = ToQString(picture.file);
  const bool kept = picture.text != nullptr && picture.text->kept;
  const QString path = picture.text == nullptr ? file : ToQString(picture.text->path);
  const QString name =
      fontMetrics().elidedText(BaseName(file), Qt::ElideMiddle, narrow() ? width() / 2 : width());
  QString title = QStringLiteral("<b>%1</b>").arg(name.toHtmlEscaped());
  if (narrow()) {
    const QString figures[] = {tr("now"), tr("at peak"), tr("leaked")};
    title +=
        QStringLiteral("  <a href='figure'>%1</a> · <a href='measure'>%2</a>")
            .arg(figures[figure_], measure_->currentIndex() == 1 ? tr("inclusive") : tr("self"));
  } else {
    const QString place = kept ? tr("%1, kept in the log").arg(path) : path;
    title += QStringLiteral(" <span style='color:%1'>%2</span>")
                 .arg(theme.muted.name(), place.toHtmlEscaped());
  }
  title_->setText(file.isEmpty() ? QString() : title);
  title_->setToolTip(kept           ? tr("%1\nkept in the log").arg(file)
                     : path == file ? file
                                    : tr("%1\nread from %2").arg(file, path));
}

void SourcePane::ShowNote() {
  const SourcePicture& picture = model_->picture();
  QString note;
  if (picture.text != nullptr && !picture.text->doubt.empty())
    note = ToQString(picture.text->doubt).toHtmlEscaped();
  else if (!picture.missing.isEmpty())
    note = (narrow() ? tr("No text. <a href='locate'>Locate file …</a>")
                     : tr("%1 The lines with bytes are below. <a href='locate'>Locate file …</a>")
                           .arg(picture.missing.toHtmlEscaped()));
  note_->setVisible(!note.isEmpty());
  note_->setToolTip(picture.missing);
  note_->setText(note.isEmpty() ? note
                                : QStringLiteral("<span style='color:%1'>%2</span>")
                                      .arg(Theme::From(palette()).warning.name(), note));
}

void SourcePane::TakeLink(const QString& link) {
  if (link == QLatin1String("measure"))
    return measure_->setCurrentIndex(1 - measure_->currentIndex());
  figure_ = (figure_ + 1) % SourceModel::kLine;
  ShowTitle();
  FitColumns();
}

void SourcePane::FitColumns() {
  const QFontMetrics figures(table_->font()), code(CodeFont());
  QHeaderView* header = table_->header();
  const int figure = figures.horizontalAdvance(QStringLiteral("8888 MiB")) + 2 * kSpace;
  for (const auto column : {SourceModel::kLive, SourceModel::kPeak, SourceModel::kLeaked}) {
    header->resizeSection(column, figure);
    table_->setColumnHidden(column, narrow()
                                        ? figure_ != column
                                        : column == SourceModel::kLeaked && !model_->Has(column));
  }
  const int last = model_->rowCount() == 0 ? 0 : model_->LineOf(model_->rowCount() - 1);
  header->resizeSection(SourceModel::kLine,
                        std::max(narrow() ? 0 : figures.horizontalAdvance(tr("Line")) + kSpace,
                                 code.horizontalAdvance(QString::number(last))) +
                            2 * kSpace);
  header->resizeSection(SourceModel::kText, (std::max(20, model_->longest()) + 2) *
                                                code.horizontalAdvance(QLatin1Char('m')));
}

void SourcePane::ScrollToMarked() {
  if (!scroll_ || model_->rowCount() == 0) return;
  scroll_ = false;
  const int row = model_->RowOf(model_->marked() > 0 ? model_->marked() : model_->LargestLine());
  if (row < 0) return;
  // Keys begin here, but bars stay visible: the row is not selected.
  table_->selectionModel()->setCurrentIndex(model_->index(row, 0), QItemSelectionModel::NoUpdate);
  table_->scrollTo(model_->index(row, 0), QAbstractItemView::PositionAtCenter);
}

void SourcePane::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) Ask();
}

void SourcePane::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange || file_.empty()) return;
  ShowTitle();
  ShowNote();
}

// The largest call site of a line first; then, click by click, its others.
void SourcePane::Click(const QModelIndex& index) {
  if (!index.isValid()) return;
  const std::vector<analysis::StackId>& stacks = model_->Stacks(index.row());
  if (stacks.empty()) return;
  const auto at = std::find(stacks.begin(), stacks.end(), selection_->site());
  const bool last = at == stacks.end() || at + 1 == stacks.end();
  clicked_ = model_->LineOf(index.row());
  model_->SetMarked(clicked_);
  selection_->SelectSite(last ? stacks.front() : *(at + 1));
}

void SourcePane::Open(const QModelIndex& index) {
  if (!index.isValid()) return;
  analysis::SourceFrame frame;
  frame.file = file_;
  frame.line = model_->LineOf(index.row());
  OpenInEditor(this, *document_, frame);
}

void SourcePane::Menu(const QPoint& at) {
  const QModelIndex index = table_->indexAt(at);
  QMenu menu(this);
  menu.addAction(tr("&Open in editor"), this, [this, index] { Open(index); })
      ->setEnabled(index.isValid());
  for (QAction* action : table_->actions()) menu.addAction(action);
  menu.addAction(tr("&Locate file …"), this, &SourcePane::Locate);
  menu.exec(table_->viewport()->mapToGlobal(at));
}

void SourcePane::Locate() {
  const QString file = ToQString(file_);
  const QString name = BaseName(file);
  const QString path = QFileDialog::getOpenFileName(this, tr("Where is %1?").arg(file), {}, name);
  if (path.isEmpty()) return;
  const absl::Status learned = LearnSourceFile(file, path);
  if (!learned.ok()) {
    SourcePicture picture = model_->picture();
    picture.missing = ToQString(analysis::StatusText(learned));
    Show(std::move(picture));
    return;
  }
  text_ = nullptr;
  Ask();
}

}  // namespace memprof::viewer
